"""Writers, one for each form: terminal, HTML, files of tables, data frames. All modules of `report` import them."""
