from hypothesis import settings

settings.register_profile("soundsum", deadline=None)
settings.load_profile("soundsum")
