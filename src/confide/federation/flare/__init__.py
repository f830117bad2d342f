"""Transport between the coordinator and the sites: NVIDIA FLARE.

Nothing outside this folder knows of it. FLARE provides mutual TLS, signed jobs, roles and job processes.
`confide.federation` decides what is asked, what leaves a site and how it is added up.
"""
