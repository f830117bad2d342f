"""What a site does: its folder, data, models, register, accounts and answers.

Import `site` to reply to requests, `config` for a site's settings; no coordinator imports anything from here.
"""
