"""Pictures for notebooks: tokens in colours, tokenizers, explanations and evaluations as tables.

Each object has `_repr_html_`, which Jupyter, VS Code and Colab call. The HTML has no script, needs
no network, and every text in it is escaped.
"""
