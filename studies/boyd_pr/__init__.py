"""Precision-recall analysis of Boyd's dissertation (2014), chapters 2 to 4, made anew."""
