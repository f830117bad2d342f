"""Private selection of features before private classifiers: Stoddard, Chen & Machanavajjhala (2014), section 5.1."""
