"""How commands print: tables, colours, drawings."""
