"""The steps of `RedisStreams` that must not be interrupted, as scripts for Redis.

INVARIANT: whatever is done for an agent is done only while `life` of the agent has the token of the life that asks. A
process that was given up for dead, or whose agent runs elsewhere by now, is told so by the answer, and nothing is done.
"""

from __future__ import annotations

from typing import Final

__all__ = ["BEAT", "FULL", "GIVEN_UP", "INHERIT", "OK", "ORPHANED", "POST", "REST", "SETTLE", "SUPERSEDED"]

OK: Final = 1
FULL: Final = 0
SUPERSEDED: Final = -1
GIVEN_UP: Final = -2
ORPHANED: Final = -3

_STANDING = """
local function standing(life, token)
    local found = redis.call('HMGET', life, 'token', 'gone')
    if found[1] == token then
        return 1
    end
    if not found[1] or found[2] == '1' then
        return -2
    end
    return -1
end
"""

# KEYS: the receiver's box, lanes and life, the sender's life, beats.
# ARGV: the sender's token, lane, why it need not wait for room (or ''), the letter, the room in a mailbox that was
# never opened, name.
POST: Final = (
    _STANDING
    + """
local sender = standing(KEYS[4], ARGV[1])
if sender ~= 1 then
    return sender
end
local receiver = redis.call('HMGET', KEYS[3], 'capacity', 'gone')
local dead = receiver[2] == '1'
local full = tonumber(redis.call('HGET', KEYS[2], ARGV[2]) or '0') >= tonumber(receiver[1] or ARGV[5])
if full and dead and (ARGV[3] == '' or ARGV[3] == 'late') then
    return -3
end
if full and ARGV[3] == '' then
    return 0
end
redis.call('XADD', KEYS[1], '*', 'letter', ARGV[4], 'lane', ARGV[2])
redis.call('HINCRBY', KEYS[2], ARGV[2], 1)
if dead then
    redis.call('HSETNX', KEYS[5], ARGV[6], 'called')
end
return 1
"""
)

# KEYS: box, lanes, life, begun, broken.
# ARGV: the token; what to do with a conversation ('' nothing, 'begin', 'end', 'break'); its key; what is kept of it;
# how many broken ones are remembered; numbers.
SETTLE: Final = (
    _STANDING
    + """
local answer = standing(KEYS[3], ARGV[1])
if answer ~= 1 then
    return answer
end
if ARGV[2] == 'begin' then
    redis.call('HSET', KEYS[4], ARGV[3], ARGV[4])
elseif ARGV[2] ~= '' then
    redis.call('HDEL', KEYS[4], ARGV[3])
end
if ARGV[2] == 'break' then
    redis.call('LPUSH', KEYS[5], ARGV[4])
    redis.call('LTRIM', KEYS[5], 0, tonumber(ARGV[5]) - 1)
end
for index = 6, #ARGV do
    local found = redis.call('XRANGE', KEYS[1], ARGV[index], ARGV[index])
    if #found == 1 then
        local fields = found[1][2]
        for place = 1, #fields, 2 do
            if fields[place] == 'lane' and redis.call('HINCRBY', KEYS[2], fields[place + 1], -1) <= 0 then
                redis.call('HDEL', KEYS[2], fields[place + 1])
            end
        end
        redis.call('XDEL', KEYS[1], ARGV[index])
    end
end
return 1
"""
)

# KEYS: beats, lives. ARGV: the beat, then a name and a token for each life. Answers how each stands, and all beats.
BEAT: Final = (
    _STANDING
    + """
local answers = {}
for index = 2, #KEYS do
    local name, token = ARGV[2 * index - 2], ARGV[2 * index - 1]
    answers[index - 1] = standing(KEYS[index], token)
    if answers[index - 1] == 1 then
        redis.call('HSET', KEYS[1], name, token .. ':' .. ARGV[1])
    end
end
return {answers, redis.call('HGETALL', KEYS[1])}
"""
)

# KEYS: beats, life. ARGV: the name, the beat it stopped at, the token of who inherits.
INHERIT: Final = """
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then
    return 0
end
redis.call('HSET', KEYS[2], 'token', ARGV[3], 'gone', '1')
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
"""

# KEYS: beats, life, box. ARGV: the token, the name, the last letter that was looked at. If another one has come since,
# the beat stays, and stands still: somebody will inherit again.
REST: Final = (
    _STANDING
    + """
if standing(KEYS[2], ARGV[1]) ~= 1 then
    return 0
end
if #redis.call('XRANGE', KEYS[3], '(' .. ARGV[3], '+', 'COUNT', 1) == 0 then
    redis.call('HDEL', KEYS[1], ARGV[2])
end
return 1
"""
)
