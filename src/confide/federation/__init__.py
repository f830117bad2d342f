"""Validation of a model at sites that share no rows: what is asked, what leaves a site, how it adds up."""
