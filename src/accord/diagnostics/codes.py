"""The one table of diagnostic codes.

`accord explain`, the documentation's error pages and the SARIF rules are made from it, and a test compiles every
example: the wrong one must give its code and the right one nothing. Codes are stable: a code is never given another
meaning.

E01x text · E02x protocols · E03x roles and projection · E04x data · E05x rules and events · E06x trace configurations ·
E07x to E09x agents, which stand in `agent_codes`
"""

from __future__ import annotations

from accord.diagnostics.agent_codes import AGENT_CODES
from accord.diagnostics.code import Code

__all__ = ["CODES", "Code"]


_TABLE = (
    Code(
        "E010",
        "unexpected character",
        "The text holds a character that has no meaning in the language. Labels with such characters are written in "
        "quotes; comments start with `//`; only ordinary spaces, tabs and line ends separate words.",
        "!Ask.?Answer$.end",
        '!Ask.?"Answer$".end',
    ),
    Code(
        "E011",
        "quoted text is not closed",
        'A text in quotes reaches from one `"` to the next on the same line.',
        '!"Ask me.?Answer.end',
        '!"Ask me".?Answer.end',
    ),
    Code(
        "E012",
        "quoted text is not valid",
        "Inside quotes the escapes of JSON apply, and a label has at least one character. Half of a surrogate pair is "
        "no character.",
        r'!"Ask\q".?Answer.end',
        r'!"Ask \"now\"".?Answer.end',
    ),
    Code(
        "E013",
        "unexpected word or sign",
        "At this place the language expects something else; the message lists what. The most frequent causes are a "
        "missing `.` between two steps, a missing `,` between two branches, and a missing `!` or `?` in front of a "
        "label.",
        "!Ask ?Answer.end",
        "!Ask.?Answer.end",
    ),
    Code(
        "E014",
        "a limit was passed",
        "The text is longer or nested deeper than the `Limits` in force allow. Split the contract, or pass a larger "
        "`Limits` value where the contract is known to be good.",
        "(" * 40 + "!a | !b" + " | !c)" * 40,
        "(!a | !b | !c)",
    ),
    Code(
        "W015",
        "label holds deceptive characters",
        "The label holds control characters, characters that change the direction of text, or letters of scripts that "
        "look alike (a Cyrillic letter among Latin ones). It may not be the label it seems to be.",
        "!p\u0430y.end",
        "!pay.end",
    ),
    Code(
        "E016",
        "bracket is not closed",
        "Every `(` needs its `)` and every `{` its `}`.",
        "!Ask.?{Yes.end, No.end",
        "!Ask.?{Yes.end, No.end}",
    ),
    Code(
        "E017",
        "text is not UTF-8",
        "Contract files are UTF-8 text.",
        "",
        "!a.end",
    ),
    Code(
        "E018",
        "duration is not valid",
        "A duration is a whole number and its unit without a space between: `500ms`, `30s`, `15m`, `24h`, `7d`. It is "
        "longer than nothing and at most 100000 days.",
        "!Ask.?Answer within 1.5h else end",
        "!Ask.?Answer within 90m else end",
    ),
    Code(
        "E020",
        "nothing is declared",
        "A contract, a declaration or a group needs at least one step. A session in which nothing happens is written "
        "`end`.",
        "// nothing here yet",
        "end",
    ),
    Code(
        "E021",
        "recursion variable is not bound",
        "A name that stands as a step of its own jumps back to the `rec` of that name around it. No such `rec` is "
        "around this one. A message needs `!` or `?` in front of its label.",
        "rec Loop.!Ask.?{Again.Lop, Done.end}",
        "rec Loop.!Ask.?{Again.Loop, Done.end}",
    ),
    Code(
        "E022",
        "choice has no branches",
        "A choice offers at least one branch.",
        "!Ask.?{}.end",
        "!Ask.?{Yes, No}.end",
    ),
    Code(
        "E023",
        "recursion is not guarded",
        "Between a `rec` and the jump back to it at least one message must be exchanged; otherwise the loop could turn "
        "for ever without anything happening.",
        "rec X.X",
        "rec X.!Ping.X",
    ),
    Code(
        "E024",
        "label stands twice in a choice",
        "The label of a message decides which branch is taken, so the branches of a choice have different labels.",
        "?{Yes.!Book.end, Yes.!Hold.end}",
        "?{Yes.!{Book.end, Hold.end}}",
    ),
    Code(
        "E025",
        "text can never be reached",
        "What stands after `end`, after a jump to a recursion variable, or after a choice or interleaving of which no "
        "way leads out, can never happen.",
        "!Ask.end.?Answer",
        "!Ask.?Answer.end",
    ),
    Code(
        "E026",
        "recursion variable crosses an interleaving",
        "The parts of an interleaving run side by side. A part may loop, but it cannot jump to a `rec` outside the "
        "interleaving: the other parts would be left hanging.",
        "rec X.(!a.X | !b)",
        "rec X.(!a | !b).X",
    ),
    Code(
        "E027",
        "name is declared twice",
        "The protocols of a contract have different names.",
        "protocol P = !a.end\nprotocol P = !b.end",
        "protocol P = !a.end\nprotocol Q = !b.end",
    ),
    Code(
        "E028",
        "protocol is too large",
        "The compiled protocol has more states than the `Limits` in force allow, or its deadlines leave more "
        "possibilities open from the beginning than a session may follow.",
        "",
        "!a.end",
    ),
    Code(
        "E029",
        "deadline is misplaced or incomplete",
        "A deadline is written `within D else T`, behind a label with its clauses and its gate, or behind the closing "
        "brace of a choice, which it then covers as a whole. T is what follows if nothing has happened in time: a "
        "step, a choice, `end`, a recursion variable, or several steps in parentheses.",
        "!Ask.?{Yes within 24h else end, No}.!Go.end",
        "!Ask.?{Yes, No} within 24h else end.!Go.end",
    ),
    Code(
        "E030",
        "role sends to itself",
        "A message goes from one role to another. What a role does alone is its own business and not in the protocol.",
        "protocol P { A -> B: m; B -> B: think }",
        "protocol P { A -> B: m; B -> A: thought }",
    ),
    Code(
        "E031",
        "roles do not match the roles line",
        "A `roles` line is optional. If it is there it names every role of the protocol once, and no other.",
        "protocol P { roles A, B, C; A -> B: m }",
        "protocol P { roles A, B; A -> B: m }",
    ),
    Code(
        "E032",
        "two branches begin alike",
        "The first message of a branch, its receiver and its label, tells which branch it is. The crash of the decider "
        "counts as a message `crash` to the role that notices it.",
        "protocol P { choice at A { A -> B: m; B -> A: yes } or { A -> B: m; B -> A: no } }",
        "protocol P { A -> B: m; choice at B { B -> A: yes } or { B -> A: no } }",
    ),
    Code(
        "E033",
        "branch does not begin with its decider",
        "`choice at A` is decided by A, by what it sends: every branch begins with a message of A. A branch behind "
        "`crash A` begins with a message of the role that notices, and A takes no part in it.",
        "protocol P { choice at A { A -> B: m } or { B -> A: n } }",
        "protocol P { choice at A { A -> B: m } or { A -> B: n } }",
    ),
    Code(
        "E034",
        "wrong use of `do`",
        "`do P(Role = Role, …)` names a protocol between roles of the same text and says who plays each of its roles, "
        "everybody at most one. A protocol is never done inside itself.",
        "protocol P { A -> B: m }\nprotocol Q { do P(A = X) }",
        "protocol P { A -> B: m }\nprotocol Q { do P(A = X, B = Y) }",
    ),
    Code(
        "E035",
        "not yet supported between roles",
        "Clauses, gates and deadlines belong to protocols of one party. Between roles, records say what messages "
        "carry, and rules what must hold.",
        "protocol P { A -> B: m(amount <= 3) }",
        "record m { amount: Int }\nprotocol P { A -> B: m }",
    ),
    Code(
        "E036",
        "role cannot know what to do",
        "Two runs of the protocol look the same to a role and ask different things of it. The message names the role "
        "and shows the shortest two. Somebody has to tell it which branch was taken.",
        "protocol P { choice at A { A -> B: m; C -> D: x } or { A -> B: n; C -> D: y } }",
        "protocol P { choice at A { A -> B: m; A -> C: m; C -> D: x } or { A -> B: n; A -> C: n; C -> D: y } }",
    ),
    Code(
        "E037",
        "roles get stuck",
        "If the roles followed the protocol, each by what it sees, they would come to where somebody waits for ever or "
        "a message is never received. The message shows the shortest way there.",
        "protocol P { par { A -> B: a; B -> C: b; D -> C: c } and { D -> C: d; C -> B: e; A -> B: f } }",
        "protocol P { A -> B: a; B -> C: b; D -> C: c; D -> C: d; C -> B: e; A -> B: f }",
    ),
    Code(
        "E038",
        "not decided whether roles can follow",
        "Nothing wrong was found and nothing was proved, so the protocol is refused. Parts of `par` that send over the "
        "same channel are not decided, nor is what passes the `Limits` in force.",
        "protocol P { par { A -> B: a } and { A -> B: b } }",
        "protocol P { par { A -> B: a } and { A -> C: b } }",
    ),
    Code(
        "E039",
        "record or enum makes no sense",
        "Types are declared once and are made of types that are there: `String`, `Int`, `Float`, `Bool`, `Any`, "
        "`List<T>`, `Map<String, T>`, `Option<T>`, records and enums. A record does not hold itself, except in an "
        "option, a list or a map.",
        "record Order { id: Strng }",
        "record Order { id: String }",
    ),
    Code(
        "E040",
        "register is never bound",
        "A guard reads a register that no way through the protocol has bound before. The guard could never hold.",
        "?quote(total as t).!pay(amount <= total)",
        "?quote(total as t).!pay(amount <= t)",
    ),
    Code(
        "E041",
        "register is shared between parts",
        "The parts of an interleaving run in any order, so what a register holds would depend on chance. A part may "
        "not write a register that another part uses.",
        "(?a(x as r).!b(y == r) | ?c(x as r))",
        "(?a(x as r).!b(y == r) | ?c(x as s))",
    ),
    Code(
        "E042",
        "guards of two branches can hold together",
        "Branches with the same label are told apart by their guards, so no payload may satisfy the guards of both.",
        "!{pay(amount <= 100).end, pay(amount >= 100).?Approval.end}",
        "!{pay(amount <= 100).end, pay(amount > 100).?Approval.end}",
    ),
    Code(
        "E043",
        "pattern is not valid",
        "Patterns behind `matches` have the syntax of RE2, which matches in linear time: no look-around and no "
        "back-references.",
        '?say(text matches "(yes")',
        '?say(text matches "(yes)")',
    ),
    Code(
        "E044",
        "register is used in two ways",
        "A register either holds a value (`as`) or collects a set (`into`). A set is asked with `in` and `not in`.",
        "?page(refs into known).!click(ref == known)",
        "?page(refs into known).!click(ref in known)",
    ),
    Code(
        "E045",
        "guards can never hold",
        "The guards of a step contradict each other, or compare with something they cannot be compared with.",
        "!pay(amount < 3, amount > 5)",
        "!pay(amount > 3, amount < 5)",
    ),
    Code(
        "E046",
        "gate on a message that is sent",
        "A gate is a step only a person can make. The agent waits for it, so it is received.",
        "!Approval by human",
        "?Approval by human",
    ),
    Code(
        "E047",
        "slice is misplaced or incomplete",
        "`each field:` stands once, in front of a whole protocol or rule, and ends in a colon. There is then one "
        "instance for every value of that field.",
        "protocol Order = !open.each order_id: !create.end",
        "protocol Order open = each order_id: !create.end",
    ),
    Code(
        "W048",
        "sliced protocol refuses what it does not name",
        "A protocol refuses every message that it does not name, sliced or not; earlier versions let them pass if it "
        "was sliced. With `open` behind its name a protocol has no business with them: an agent with fifty tools of "
        "which three matter needs only these three in it. If they are to be refused, say so: "
        "`// accord: ignore[W048] reason`, on a line of its own above.",
        "protocol Order = each order_id: !create.?paid.!ship.end",
        "protocol Order open = each order_id: !create.?paid.!ship.end",
    ),
    Code(
        "E049",
        "what a failed call means is said twice",
        "A contract says once what it means if a call of a tool fails: in one `tools` block, in one line, and "
        "`otherwise` for all tools that it does not name.",
        'tools { pay fails unknown [pay, refund] fails done }\nrule "r" { at most 1 pay }',
        'tools { pay fails unknown refund fails done }\nrule "r" { at most 1 pay }',
    ),
    Code(
        "E050",
        "rule is declared twice",
        "The rules of a contract have different names: a verdict names the rule that refused.",
        'rule "a" { at most 1 X }\nrule "a" { at most 2 Y }',
        'rule "a" { at most 1 X }\nrule "b" { at most 2 Y }',
    ),
    Code(
        "W051",
        "rule names a message that cannot happen",
        "No protocol of the contract has a message of that name. What is required and cannot happen never holds, so "
        "what it is required for is refused always; what is restricted and cannot happen is no restriction.",
        'protocol P = ?Approval.!Pay.end\nrule "r" { before Pay require Aproval }',
        'protocol P = ?Approval.!Pay.end\nrule "r" { before Pay require Approval }',
    ),
    Code(
        "E052",
        "number makes the condition always or never true",
        "`N of [...]` wants a number from 1 to the number of conditions; `at least 0` is always true.",
        'rule "r" { before Launch require 4 of [A, B, C] }',
        'rule "r" { before Launch require 3 of [A, B, C] }',
    ),
    Code(
        "E053",
        "register in a rule",
        "Rules look at what has happened in a session, whichever protocol it runs, and not at the registers of one. "
        "Their guards compare with literals.",
        'rule "r" { before Pay(amount <= t) require Approval }',
        'rule "r" { before Pay(amount <= 100) require Approval }',
    ),
    Code(
        "W054",
        "result comes only behind a call that waits for it",
        "A guard lets a call happen only if it is legal whatever becomes of the calls that are out. Here the second "
        "call is legal only after the first, which may be taken back if it fails, so it waits for the first one's "
        "result; and that comes only behind it. Let the two run side by side, or say in `tools` that a failed call was "
        "made.",
        "protocol P = !a.!b.?a.?b.end",
        "protocol P = (!a.?a | !b.?b).end",
    ),
    Code(
        "E055",
        "`after each` requires more than a message",
        "`after each A require B` counts: as many Bs as As. So B is one message, or any of several.",
        'rule "r" { after each Question require Answer and Source }',
        'rule "r" { after each Question require any of [Answer, Apology] }',
    ),
    Code(
        "E056",
        "`within` requires that something does not happen",
        "`within D after A require C` waits until C holds, so C is made of what happens: labels, `and`, `or`, `all "
        "of`, `any of`, `N of` and `at least`. What must not happen is said by a rule of its own.",
        'rule "r" { within 24h after Request require not Cancel }',
        'rule "r" { after Request forbid Cancel }',
    ),
    Code(
        "E057",
        "events block stands twice",
        "The first line of the events that fits a message decides what it is, so all lines stand in one block, in one "
        "order.",
        'events { a when call x b when call y }\nevents { b when call z }\nrule "r" { before a require b }',
        'events { a when call x b when call in [y, z] }\nrule "r" { before a require b }',
    ),
    Code(
        "E058",
        "line of events never decides",
        "An earlier line takes every message that this one could take. A line with a guard, or with fewer names, "
        "stands in front of the one without.",
        'events { a when call x b when call x where y == 1 }\nrule "r" { before a require b }',
        'events { b when call x where y == 1 a when call x }\nrule "r" { before a require b }',
    ),
    Code(
        "W059",
        "label is given or named by nobody",
        "A contract with events looks at what its events name. A label that no protocol and no rule names changes "
        "nothing; one that no line of the events gives never happens, and neither does it in the other direction: what "
        "the agent does is `!`, what reaches it is `?`.",
        'events { Cancel when call cancel Confirm when user says "yes" }\nrule "r" { before Cancel require Confrim }',
        'events { Cancel when call cancel Confirm when user says "yes" }\nrule "r" { before Cancel require Confirm }',
    ),
    Code(
        "E060",
        "configuration is no YAML",
        "A trace configuration is one YAML document. JSON is YAML too.",
        "contracts: {enabled: true",
        "contracts: {enabled: true}",
    ),
    Code(
        "E061",
        "key is not known",
        "A key that means nothing would be a rule that never holds. The message lists what is known there, or what was "
        "probably meant.",
        "contracts: {fail_fsat: true}",
        "contracts: {fail_fast: true}",
    ),
    Code(
        "E062",
        "value is not what is expected there",
        "The message says what stands there and what should. In YAML `no`, `off` and `1` are no texts: names that look "
        "so are written in quotes.",
        "contracts: {tool_order: {forbidden_sequences: [delete, commit]}}",
        "contracts: {tool_order: {forbidden_sequences: [[delete, commit]]}}",
    ),
    Code(
        "E063",
        "version is not supported",
        "A trace configuration says which version of its format it has, or has the version that is there.",
        "version: 2",
        "version: 1",
    ),
    Code(
        "E064",
        "configuration is too large",
        "A trace configuration is at most a million characters long and 64 levels deep, and unfolds to at most 100,000 "
        "values, aliases included.",
        "contracts: " + "[" * 100 + "]" * 100,
        "contracts: {}",
    ),
    Code(
        "E065",
        "key stands twice",
        "Which of two values counts would depend on who reads them.",
        "enabled: true\nenabled: false",
        "enabled: true",
    ),
    Code(
        "E066",
        "schema is not valid",
        "A schema is JSON Schema 2020-12 and holds everything it refers to: nothing is fetched.",
        "contracts: {tool_payloads: {tools: {add: {args_schema: {type: intger}}}}}",
        "contracts: {tool_payloads: {tools: {add: {args_schema: {type: integer}}}}}",
    ),
    Code(
        "E067",
        "code of your own cannot be imported",
        "A normaliser of your own (`kind: import`) and a validator of your own are named as "
        "`package.module:attribute`. Importing runs code, so whoever loads the configuration has to allow it.",
        "fingerprint: {normaliser: {kind: import, import: 'my.normaliser:function'}}",
        "fingerprint: {normaliser: {kind: builtin}}",
    ),
    Code(
        "E068",
        "order rule makes no sense",
        "No run could ever fulfil it, or it says nothing.",
        "contracts: {tool_order: {must_precede: {search: [search]}}}",
        "contracts: {tool_order: {must_precede: {search: [book]}}}",
    ),
    Code(
        "E069",
        "contract of a configuration cannot be used",
        "`protocol` takes the text of a contract or the file that holds one. The message says what is wrong with it.",
        "contracts: {protocol: {contract: '!search.'}}",
        "contracts: {protocol: {contract: '!search.?search.end'}}",
    ),
)

CODES = {entry.code: entry for entry in (*_TABLE, *AGENT_CODES)}
