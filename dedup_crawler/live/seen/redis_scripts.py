"""What happens inside Redis, each script at once for all crawlers.

Keys, all with the prefix NAME: ``seen:XXXX`` (hashes by the first two bytes of the digest, so small that Redis packs
them: rest of the digest -> crawler, rules, owner), ``awaited`` (digest -> crawler, state, rules, owner), ``requests``
(digest -> text), ``substitutes`` (digest -> owner, text), ``of:CRAWLER`` (digests that a crawler awaits), ``crawlers``,
``alive:CRAWLER`` (expires without a heartbeat), ``size`` (seen forms), ``facts``.

A crawler is 8 hexadecimal digits. The state of an awaited form is ``c`` (claimed), ``h`` (free; its request was handed
to the crawler to be sent) or ``H`` (the same, handed twice: once could be an answer of Redis that got lost).
"""

from __future__ import annotations

_COMMON = """
local name, me = ARGV[1], ARGV[2]
local awaited, requests, substitutes = name .. ':awaited', name .. ':requests', name .. ':substitutes'
local no_rules, nothing = '\\0\\0', '\\0\\0\\0\\0'
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
    return string.sub(value, 1, 8), string.sub(value, 9, 9), string.sub(value, 10, 11), string.sub(value, 12, 13)
  end
end

local function seen(digest)
  local key, rest = bucket(digest)
  local value = redis.call('HGET', key, rest)
  if value then return string.sub(value, 1, 4), string.sub(value, 5, 6), string.sub(value, 7, 8) end
end

local function see(digest, crawler, rules_and_owner)
  local key, rest = bucket(digest)
  local n = redis.call('HSET', key, rest, string.sub(crawler, 1, 4) .. rules_and_owner)
  if n == 1 then redis.call('INCR', name .. ':size') end
end

local function unsee(digest)
  local key, rest = bucket(digest)
  if redis.call('HDEL', key, rest) == 1 then redis.call('DECR', name .. ':size') end
end

local function hand_out(digest, text, state, tag)
  redis.call('HSET', awaited, digest, me .. state .. tag)
  redis.call('HSET', requests, digest, text)
  redis.call('SADD', name .. ':of:' .. me, digest)
end

local function free(digest, crawler)
  redis.call('SREM', name .. ':of:' .. crawler, digest)
  local text = redis.call('HGET', substitutes, digest)
  redis.call('HDEL', substitutes, digest)
  if text then
    local owner = string.sub(text, 1, 2)
    text = string.sub(text, 3)
    hand_out(digest, text, 'h', no_rules .. owner)
  else
    redis.call('HDEL', awaited, digest)
    redis.call('HDEL', requests, digest)
  end
  return text
end

local function size()
  return tonumber(redis.call('GET', name .. ':size') or 0) + redis.call('SCARD', name .. ':of:' .. me)
end

local function beat(milliseconds)
  redis.call('SET', name .. ':alive:' .. me, 1, 'PX', milliseconds)
  redis.call('SADD', name .. ':crawlers', me)
end
"""

CLAIM = (
    _COMMON
    + """
-- ARGV[3] milliseconds, ARGV[4] invalid rules, 2 bytes each; then digest, rules and owner, request ('': none)
-- gives the size of the set, then for each claim: standing * 65536 + rules of the owner
beat(ARGV[3])
local is_invalid = {}
for i = 1, #ARGV[4], 2 do is_invalid[string.sub(ARGV[4], i, i + 1)] = true end

local function take(digest, tag, request, crawler, earlier_rules, earlier_owner)
  if crawler then
    redis.call('SREM', name .. ':of:' .. crawler, digest)
    -- the substitute waits on, unless it is the very URL that claims; else the earlier owner's request does, which may
    -- be on its way too, until it is claimed itself
    local owner = string.sub(tag, 3, 4)
    local waiting = redis.call('HGET', substitutes, digest)
    if waiting and string.sub(waiting, 1, 2) == owner then redis.call('HDEL', substitutes, digest) end
    local earlier = redis.call('HGET', requests, digest)
    local is_another = earlier_owner ~= owner and earlier_rules .. earlier_owner ~= nothing
    if earlier and is_another then redis.call('HSETNX', substitutes, digest, earlier_owner .. earlier) end
  end
  redis.call('HSET', awaited, digest, me .. 'c' .. tag)
  redis.call('SADD', name .. ':of:' .. me, digest)
  if request == '' then redis.call('HDEL', requests, digest) else redis.call('HSET', requests, digest, request) end
end

local function claim(digest, tag, request)
  local crawler, state, rules, owner = held(digest)
  if crawler then
    if state == 'c' and is_alive(crawler) and not is_invalid[rules] then
      if crawler == me and owner == string.sub(tag, 3, 4) then return 1, rules end
      return 2, rules
    end
  else
    local seer
    seer, rules, owner = seen(digest)
    if seer then
      if not is_invalid[rules] then
        if seer == string.sub(me, 1, 4) and owner == string.sub(tag, 3, 4) then return 1, rules end
        return 3, rules
      end
      unsee(digest)
    end
  end
  take(digest, tag, request, crawler, rules, owner)
  return 0, string.sub(tag, 1, 2)
end

local replies = {0}
for i = 5, #ARGV, 3 do
  local standing, rules = claim(ARGV[i], ARGV[i + 1], ARGV[i + 2])
  local high, low = string.byte(rules, 1, 2)
  replies[#replies + 1] = standing * 65536 + high * 256 + low
end
replies[1] = size()
return replies
"""
)

WAIT = (
    _COMMON
    + """
-- ARGV[3] digest, ARGV[4] owner (2 bytes) and substitute; gives 1 if its URL may be dropped
local crawler, state = held(ARGV[3])
if crawler then
  if state ~= 'c' or not is_alive(crawler) then return 0 end
  redis.call('HSETNX', substitutes, ARGV[3], ARGV[4])
  return 1
end
if seen(ARGV[3]) then return 1 end
return 0
"""
)

BEAT = (
    _COMMON
    + """
-- ARGV[3] milliseconds, ARGV[4] number of processed digests, these; then digest, rules and owner of restored forms
-- gives the size of the set
beat(ARGV[3])
local n_processed = tonumber(ARGV[4])
for i = 5, 4 + n_processed do
  local digest = ARGV[i]
  local crawler, _, rules, owner = held(digest)
  if crawler then
    redis.call('HDEL', awaited, digest)
    redis.call('HDEL', requests, digest)
    redis.call('HDEL', substitutes, digest)
    redis.call('SREM', name .. ':of:' .. crawler, digest)
    see(digest, crawler, rules .. owner)
  elseif not seen(digest) then
    see(digest, me, nothing) -- Redis lost the claim, but the page is there
  end
end
for i = 5 + n_processed, #ARGV, 2 do
  if not held(ARGV[i]) and not seen(ARGV[i]) then see(ARGV[i], '----', ARGV[i + 1]) end
end
return size()
"""
)

RELEASE = (
    _COMMON
    + """
-- ARGV[3] digest; gives the size of the set and, if the form was one's own, the substitute; a seen form is forgotten
local crawler, state = held(ARGV[3])
local text = false
if not crawler then
  unsee(ARGV[3])
elseif crawler == me and state == 'c' then
  text = free(ARGV[3], me)
end
return {size(), text}
"""
)

SWALLOWED = (
    _COMMON
    + """
-- ARGV[3] how many texts at most, then digests that were answered; gives what is to be fetched in place of own requests
local is_answered, texts = {}, {}
for i = 4, #ARGV do is_answered[ARGV[i]] = true end
for _, digest in ipairs(redis.call('SMEMBERS', name .. ':of:' .. me)) do
  if #texts >= tonumber(ARGV[3]) then break end
  if not is_answered[digest] then
    local crawler, state, rules, owner = held(digest)
    local text = false
    if crawler ~= me then
      redis.call('SREM', name .. ':of:' .. me, digest)
    elseif state == 'h' then
      text = redis.call('HGET', requests, digest)
      hand_out(digest, text, 'H', rules .. owner)
    else
      text = free(digest, me)
    end
    if text then texts[#texts + 1] = text end
  end
end
return texts
"""
)

RESCUE = (
    _COMMON
    + """
-- ARGV[3] how many texts at most; gives requests of crawlers that died, which are this crawler's to send from now on
local texts = {}
for _, crawler in ipairs(redis.call('SMEMBERS', name .. ':crawlers')) do
  while not is_alive(crawler) and #texts < tonumber(ARGV[3]) do
    local digest = redis.call('SPOP', name .. ':of:' .. crawler)
    if not digest then
      redis.call('SREM', name .. ':crawlers', crawler)
      break
    end
    local holder, _, rules, owner = held(digest)
    if holder == crawler then
      local text = redis.call('HGET', requests, digest)
      if text then hand_out(digest, text, 'h', rules .. owner) else text = free(digest, crawler) end
      if text then texts[#texts + 1] = text end
    end
  end
end
return texts
"""
)

OTHERS = (
    _COMMON
    + """
-- gives each other crawler that has unfinished forms, and how many milliseconds it is given; less than 0: it is dead
local found = {}
for _, crawler in ipairs(redis.call('SMEMBERS', name .. ':crawlers')) do
  local left = redis.call('PTTL', name .. ':alive:' .. crawler)
  if crawler ~= me and redis.call('EXISTS', name .. ':of:' .. crawler) == 1 then
    found[#found + 1] = crawler
    found[#found + 1] = left
  end
end
return found
"""
)

LEAVE = (
    _COMMON
    + """
-- the crawler stops in order: what it had not finished is free at once
redis.call('DEL', name .. ':alive:' .. me)
if redis.call('EXISTS', name .. ':of:' .. me) == 0 then redis.call('SREM', name .. ':crawlers', me) end
"""
)
