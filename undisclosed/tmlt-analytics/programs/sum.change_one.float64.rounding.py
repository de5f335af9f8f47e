# tmlt-analytics.sum.change_one.float64 0.21.0: rounding, change_one neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = float.fromhex("0x1.0000000000010p-1"), float.fromhex("0x1.0000000000011p-1"), 1.0, 33
import pandas, pyspark.sql, tmlt.analytics as a, tmlt.core.domains.spark_domains as d, tmlt.core.metrics as m, tmlt.core.transformations.spark_transformations.agg as g, tmlt.core.utils.exact_number as e
spark = pyspark.sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
def table(data): return spark.createDataFrame(pandas.DataFrame({"v": data})).coalesce(1)
summed = g.Sum(d.SparkDataFrameDomain({"v": d.SparkFloatColumnDescriptor()}), m.HammingDistance(), "v", *(e.ExactNumber.from_float(x, False) for x in (lower, upper)))
def noiseless(data): return summed(table(data))
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float64'), n) for xs, n in parts])
left = rows(("0x1.0000000000010p-1", 32), ("0x1.0000000000011p-1", 1))
right = rows(("0x1.0000000000010p-1", 33))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("1/9007199254740992")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("1/9007199254740992"))
