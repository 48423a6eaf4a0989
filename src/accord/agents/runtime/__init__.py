"""Agents at work: mailboxes, conversations, supervision, transports.

A *letter* is a message on its way. A *conversation* is one session as one role sees it, with its monitor. A *strand*
is a task of an agent with the conversations it works on: a handler, or `on_start`. A *life* is an agent between its
start and its crash. A supervisor owns lives, a transport mailboxes, which outlive them.
"""
