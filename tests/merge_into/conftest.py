"""Lakes for MERGE INTO: as those of the stories."""

from tests.stories.conftest import empty_lake, lake, spark_lake

__all__ = ["empty_lake", "lake", "spark_lake"]
