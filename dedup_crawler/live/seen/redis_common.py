"""How a seen set lies in Redis, and what all scripts that read or write it share.

Keys, all with the prefix NAME: ``seen:XXXX`` (hashes by the first two bytes of the digest, so small that Redis packs
them: rest of the digest -> crawler, rules, owner), ``awaited`` (digest -> crawler, state, rules, tag of the owner),
``requests`` (digest -> text), ``substitutes:DIGEST`` (tag -> number, text; of awaited forms), ``substitute`` (the last
number), ``owners`` (digest -> text, of the forms seen last) and ``owned`` (their digests in order), ``of:CRAWLER``
(digests that a crawler awaits), ``dropped:CRAWLER`` (codes of rules) and ``dropped:CRAWLER:RULES`` (texts of kept
drops), ``crawlers``, ``alive:CRAWLER`` (expires without a heartbeat), ``size`` (seen forms), ``facts``.

A crawler is 8 hexadecimal digits, rules are 2 bytes, a tag is 4 bytes, of which a seen form keeps the last 2. The
state of an awaited form is ``c`` (claimed), ``h`` (free; its request was handed to the crawler to be sent) or ``H``
(the same, handed twice: once could be an answer of Redis that got lost). A form that is not awaited has no substitutes.
"""

from __future__ import annotations

COMMON = """
local name, me = ARGV[1], ARGV[2]
local awaited, requests = name .. ':awaited', name .. ':requests'
local lives = {}

local function is_alive(crawler)
  if crawler == me then return true end
  if lives[crawler] == nil then lives[crawler] = redis.call('EXISTS', name .. ':alive:' .. crawler) == 1 end
  return lives[crawler]
end

local function bucket(digest)
  return name .. ':seen:' .. string.format('%02x%02x', string.byte(digest, 1, 2)), string.sub(digest, 3)
end

local function held(digest)
  local value = redis.call('HGET', awaited, digest)
  if value then
    return string.sub(value, 1, 8), string.sub(value, 9, 9), string.sub(value, 10, 11), string.sub(value, 12, 15)
  end
end

local function seen(digest)
  local key, rest = bucket(digest)
  local value = redis.call('HGET', key, rest)
  if value then return string.sub(value, 1, 4), string.sub(value, 5, 6), string.sub(value, 7, 8) end
end

local function see(digest, crawler, rules, tag)
  local key, rest = bucket(digest)
  local n = redis.call('HSET', key, rest, string.sub(crawler, 1, 4) .. rules .. string.sub(tag, 3, 4))
  if n == 1 then redis.call('INCR', name .. ':size') end
end

local function unsee(digest)
  local key, rest = bucket(digest)
  if redis.call('HDEL', key, rest) == 1 then redis.call('DECR', name .. ':size') end
end

local function substitutes_of(digest)
  return name .. ':substitutes:' .. digest
end

local function wait(digest, tag, text)
  if redis.call('HEXISTS', substitutes_of(digest), tag) == 0 then
    local number = string.format('%015d', redis.call('INCR', name .. ':substitute'))
    redis.call('HSET', substitutes_of(digest), tag, number .. text)
  end
end

local function hand_out(digest, text, state, rules_and_tag)
  redis.call('HSET', awaited, digest, me .. state .. rules_and_tag)
  redis.call('HSET', requests, digest, text)
  redis.call('SADD', name .. ':of:' .. me, digest)
end

local function free(digest, crawler)
  redis.call('SREM', name .. ':of:' .. crawler, digest)
  local waiting = redis.call('HGETALL', substitutes_of(digest))
  local tag, oldest, text
  for i = 1, #waiting, 2 do
    local number = string.sub(waiting[i + 1], 1, 15)
    if not oldest or number < oldest then tag, oldest, text = waiting[i], number, string.sub(waiting[i + 1], 16) end
  end
  if text then
    redis.call('HDEL', substitutes_of(digest), tag)
    hand_out(digest, text, 'h', '\\0\\0' .. tag)
    return text
  end
  redis.call('HDEL', awaited, digest)
  redis.call('HDEL', requests, digest)
  return false
end

local function is_unfinished(crawler)
  return redis.call('EXISTS', name .. ':of:' .. crawler, name .. ':dropped:' .. crawler) > 0
end

local function drop(rules, text)
  redis.call('SADD', name .. ':dropped:' .. me, rules)
  redis.call('SADD', name .. ':dropped:' .. me .. ':' .. rules, text)
end

local function size()
  return tonumber(redis.call('GET', name .. ':size') or 0) + redis.call('SCARD', name .. ':of:' .. me)
end

local function beat(milliseconds)
  redis.call('SET', name .. ':alive:' .. me, 1, 'PX', milliseconds)
  redis.call('SADD', name .. ':crawlers', me)
end
"""
