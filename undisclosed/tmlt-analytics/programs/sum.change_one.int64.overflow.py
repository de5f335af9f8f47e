# tmlt-analytics.sum.change_one.int64 0.21.0: overflow, change_one neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = 0, 279496122328932601, 1.0, 34
import pandas, pyspark.sql, tmlt.analytics as a, tmlt.core.domains.spark_domains as d, tmlt.core.metrics as m, tmlt.core.transformations.spark_transformations.agg as g, tmlt.core.utils.exact_number as e
spark = pyspark.sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
def table(data): return spark.createDataFrame(pandas.DataFrame({"v": data})).coalesce(1)
summed = g.Sum(d.SparkDataFrameDomain({"v": d.SparkIntegerColumnDescriptor()}), m.HammingDistance(), "v", lower, upper)
def noiseless(data): return summed(table(data))
def rows(*parts): return np.concatenate([np.tile(np.array([int(x) for x in xs.split()], 'int64'), n) for xs, n in parts])
left = rows(("279496122328932601", 32), ("279496122328932575", 1), ("0", 1))
right = rows(("279496122328932601", 32), ("279496122328932575", 1), ("1", 1))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("279496122328932601")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("279496122328932601"))
