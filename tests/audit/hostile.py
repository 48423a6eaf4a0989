"""Text that would do something if anybody let it."""

from __future__ import annotations

MARKUP = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
TERMINAL = "\x1b[31mred\x1b]0;owned\x07\u202egnp.exe"
FORMULA = '=HYPERLINK("http://evil.example","click")'
ALL = f"{MARKUP} {TERMINAL} ]]> & ' \" \ud800 \x00"

CONTRACT = """
events {
    Yes when user says matches "yes"
    Pay when call in [pay, "=cmd()"]
}
rule "<b>bold</b> \\"=1+1\\"" { before each Pay require Yes }
"""
