"""Templates that come with zeton."""

from zeton.chat.template import Part, Role, Template

__all__ = ["CHATML", "NANOCHAT"]

NANOCHAT = Template(
    name="nanochat",
    begin="<|bos|>",
    roles={
        "system": Role(after=("",), joins="\n\n"),
        "user": Role("<|user_start|>", "<|user_end|>", after=("", "system", "assistant")),
        "assistant": Role(
            "<|assistant_start|>",
            "<|assistant_end|>",
            learned=True,
            parts={
                "text": Part(),
                "python": Part("<|python_start|>", "<|python_end|>"),
                "python_output": Part("<|output_start|>", "<|output_end|>", learned=False),
            },
            after=("user",),
        ),
    },
    specials=(
        "<|bos|>",
        "<|user_start|>",
        "<|user_end|>",
        "<|assistant_start|>",
        "<|assistant_end|>",
        "<|python_start|>",
        "<|python_end|>",
        "<|output_start|>",
        "<|output_end|>",
    ),
)
"""nanochat's: a system message joins the first question, and an answer may use Python."""


CHATML = Template(
    name="chatml",
    roles={
        "system": Role("<|im_start|>system\n", "<|im_end|>\n", after=("",)),
        "user": Role("<|im_start|>user\n", "<|im_end|>\n", after=("", "system", "assistant")),
        "assistant": Role(
            "<|im_start|>assistant\n", "<|im_end|>\n", learned=True, after=("user", "tool")
        ),
        "tool": Role("<|im_start|>tool\n", "<|im_end|>\n", after=("assistant", "tool")),
    },
    specials=("<|im_start|>", "<|im_end|>"),
)
"""ChatML, with a role for what a tool returns."""
