"""The engine that carries requests and replies between the coordinator and the sites: NVIDIA FLARE.

Nothing outside this folder knows of it. FLARE gives mutual TLS, signed jobs, roles and job processes; what is asked,
what leaves a site and how it adds up is decided in `confide.federation`.
"""
