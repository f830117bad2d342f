"""Chapter 5 of Boyd's dissertation (2014) and Boyd, Lantz & Page (2015): private AUC and average precision."""
