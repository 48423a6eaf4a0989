"""What is in a PostgreSQL or Redis as text, and back into another one."""

from __future__ import annotations

import json
import subprocess

import psycopg
import redis

from accord.testing.servers import _postgres

__all__ = ["into_postgres", "into_redis", "of_postgres", "of_redis"]


def of_postgres(address):
    """Statements that make what is in the schema `public`; settings of one server are of no use to another."""
    command = [_postgres("pg_dump"), "--inserts", "--no-owner", "--no-privileges", "--schema=public", address]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    beginnings = ("--", "\\", "SET ", "SELECT pg_catalog", "CREATE SCHEMA")
    return "\n".join(line for line in text.splitlines() if line and not line.startswith(beginnings)) + "\n"


def into_postgres(address, text):
    with psycopg.connect(address, autocommit=True) as db:
        db.execute(text)


def of_redis(address):
    """A command in each line, as a list in JSON; bytes are characters of Latin-1."""
    lines = []
    with redis.Redis.from_url(address) as client:
        for key in sorted(client.keys()):
            kind = client.type(key)
            if kind == b"string":
                lines.append([b"SET", key, client.get(key)])
            elif kind == b"list":
                lines.append([b"RPUSH", key, *client.lrange(key, 0, -1)])
            elif kind == b"set":
                lines.append([b"SADD", key, *sorted(client.smembers(key))])
            elif kind == b"hash":
                pairs = sorted(client.hgetall(key).items())
                lines.append([b"HSET", key, *(part for pair in pairs for part in pair)])
            elif kind == b"zset":
                scored = client.zrange(key, 0, -1, withscores=True)
                lines.append([b"ZADD", key, *(part for member, score in scored for part in (b"%r" % score, member))])
            elif kind == b"stream":
                for identity, fields in client.xrange(key):
                    parts = [part for pair in fields.items() for part in pair]
                    lines.append([b"XADD", key, identity, *parts])
            else:
                raise AssertionError(f"{key} is a {kind}")
    return "".join(json.dumps([part.decode("latin-1") for part in line]) + "\n" for line in lines)


def into_redis(address, text):
    with redis.Redis.from_url(address) as client:
        for line in text.splitlines():
            client.execute_command(*[part.encode("latin-1") for part in json.loads(line)])
