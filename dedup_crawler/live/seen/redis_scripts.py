"""What happens inside Redis, each script at once for all crawlers; redis_common says what the keys are."""

from __future__ import annotations

from dedup_crawler.live.seen.redis_common import COMMON

_N_OWNERS = 20_000

CLAIM = (
    COMMON
    + """
-- ARGV[3] milliseconds, ARGV[4] invalid rules, 2 bytes each; then digest, rules and tag, request ('': none)
-- gives the size of the set, then for each claim: standing * 65536 + rules of the owner
beat(ARGV[3])
local is_invalid = {}
for i = 1, #ARGV[4], 2 do is_invalid[string.sub(ARGV[4], i, i + 1)] = true end

local function take(digest, tag, request, crawler, earlier_tag)
  if crawler then
    redis.call('SREM', name .. ':of:' .. crawler, digest)
    local url = string.sub(tag, 3, 6)
    redis.call('HDEL', substitutes_of(digest), url)
    -- the earlier owner's request may be on its way: it waits until its own URL claims the form; or the rules of the
    -- claim drop it
    local earlier = redis.call('HGET', requests, digest)
    if earlier and earlier_tag ~= url then
      wait(digest, earlier_tag, earlier)
      drop(string.sub(tag, 1, 2), earlier)
    end
  end
  redis.call('HSET', awaited, digest, me .. 'c' .. tag)
  redis.call('SADD', name .. ':of:' .. me, digest)
  if request == '' then redis.call('HDEL', requests, digest) else redis.call('HSET', requests, digest, request) end
end

local function claim(digest, tag, request)
  local owner = string.sub(tag, 5, 6)
  local crawler, state, rules, earlier_tag = held(digest)
  if crawler then
    if state == 'c' and is_alive(crawler) and not is_invalid[rules] then
      if crawler == me and string.sub(earlier_tag, 3, 4) == owner then return 1, rules end
      return 2, rules
    end
  else
    local seer, earlier_owner
    seer, rules, earlier_owner = seen(digest)
    if seer then
      if not is_invalid[rules] then
        if seer == string.sub(me, 1, 4) and earlier_owner == owner then return 1, rules end
        return 3, rules
      end
      unsee(digest)
    end
  end
  take(digest, tag, request, crawler, earlier_tag)
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
    COMMON
    + """
-- ARGV[3] digest, ARGV[4] tag, ARGV[5] substitute; gives 1 if its URL may be dropped
local crawler, state = held(ARGV[3])
if crawler then
  if state ~= 'c' or not is_alive(crawler) then return 0 end
  wait(ARGV[3], ARGV[4], ARGV[5])
  return 1
end
if seen(ARGV[3]) then return 1 end
return 0
"""
)

BEAT = (
    COMMON
    + """
-- ARGV[3] milliseconds, ARGV[4] number of processed digests, ARGV[5] number of restored forms, ARGV[6] codes of rules
-- whose drops are let go, 2 bytes each ('*': all); then processed digests; digest, rules and tag of restored forms;
-- rules and text of kept drops; gives the size of the set
beat(ARGV[3])
local n_processed, n_restored = tonumber(ARGV[4]), tonumber(ARGV[5])

local function forget(rules)
  redis.call('UNLINK', name .. ':dropped:' .. me .. ':' .. rules)
  redis.call('SREM', name .. ':dropped:' .. me, rules)
end

if ARGV[6] == '*' then
  for _, rules in ipairs(redis.call('SMEMBERS', name .. ':dropped:' .. me)) do forget(rules) end
else
  for i = 1, #ARGV[6], 2 do forget(string.sub(ARGV[6], i, i + 1)) end
end

local function own(digest, text)
  if redis.call('HSET', name .. ':owners', digest, text) == 0 then return end
  if redis.call('RPUSH', name .. ':owned', digest) > """
    + str(_N_OWNERS)
    + """ then
    redis.call('HDEL', name .. ':owners', redis.call('LPOP', name .. ':owned'))
  end
end

for i = 7, 6 + n_processed do
  local digest = ARGV[i]
  local crawler, _, rules, tag = held(digest)
  if crawler then
    local text = redis.call('HGET', requests, digest)
    if text then own(digest, text) end
    redis.call('HDEL', awaited, digest)
    redis.call('HDEL', requests, digest)
    redis.call('UNLINK', substitutes_of(digest))
    redis.call('SREM', name .. ':of:' .. crawler, digest)
    see(digest, crawler, rules, tag)
  elseif not seen(digest) then
    see(digest, me, '\\0\\0', '\\0\\0\\0\\0') -- Redis lost the claim, but the page is there
  end
end
for i = 7 + n_processed, 5 + n_processed + 2 * n_restored, 2 do
  if not held(ARGV[i]) and not seen(ARGV[i]) then
    see(ARGV[i], '----', string.sub(ARGV[i + 1], 1, 2), string.sub(ARGV[i + 1], 3, 6))
  end
end
for i = 7 + n_processed + 2 * n_restored, #ARGV, 2 do drop(ARGV[i], ARGV[i + 1]) end
return size()
"""
)

RELEASE = (
    COMMON
    + """
-- ARGV[3] digest; gives the size of the set and, if the form was one's own, its oldest substitute; a seen form is
-- forgotten
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
    COMMON
    + """
-- ARGV[3] how many texts at most, then digests that were answered; gives what is to be fetched in place of own requests
local is_answered, texts = {}, {}
for i = 4, #ARGV do is_answered[ARGV[i]] = true end
for _, digest in ipairs(redis.call('SMEMBERS', name .. ':of:' .. me)) do
  if #texts >= tonumber(ARGV[3]) then break end
  if not is_answered[digest] then
    local crawler, state, rules, tag = held(digest)
    local text = false
    if crawler ~= me then
      redis.call('SREM', name .. ':of:' .. me, digest)
    elseif state == 'h' then
      text = redis.call('HGET', requests, digest)
      hand_out(digest, text, 'H', rules .. tag)
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
    COMMON
    + """
-- ARGV[3] how many requests of either kind at most; gives requests of crawlers that died, which are this crawler's to
-- send from now on, and drops that they kept, which are this crawler's to keep
local n_at_most = tonumber(ARGV[3])
local texts, drops = {}, {}

local function rescue_drops(crawler)
  local key = name .. ':dropped:' .. crawler
  for _, rules in ipairs(redis.call('SMEMBERS', key)) do
    if #drops == n_at_most then return end
    for _, text in ipairs(redis.call('SPOP', key .. ':' .. rules, n_at_most - #drops)) do
      drop(rules, text)
      drops[#drops + 1] = text
    end
    if redis.call('EXISTS', key .. ':' .. rules) == 0 then redis.call('SREM', key, rules) end
  end
end

local function rescue_forms(crawler)
  while #texts < n_at_most do
    local digest = redis.call('SPOP', name .. ':of:' .. crawler)
    if not digest then return end
    local holder, _, rules, tag = held(digest)
    if holder == crawler then
      local text = redis.call('HGET', requests, digest)
      if text then hand_out(digest, text, 'h', rules .. tag) else text = free(digest, crawler) end
      if text then texts[#texts + 1] = text end
    end
  end
end

for _, crawler in ipairs(redis.call('SMEMBERS', name .. ':crawlers')) do
  if not is_alive(crawler) then
    rescue_forms(crawler)
    rescue_drops(crawler)
    if not is_unfinished(crawler) then redis.call('SREM', name .. ':crawlers', crawler) end
  end
end
for _, text in ipairs(drops) do texts[#texts + 1] = text end
return texts
"""
)

OTHERS = (
    COMMON
    + """
-- gives each other crawler that has unfinished forms or kept drops, and how many milliseconds it is given; less than 0:
-- it is dead
local found = {}
for _, crawler in ipairs(redis.call('SMEMBERS', name .. ':crawlers')) do
  local left = redis.call('PTTL', name .. ':alive:' .. crawler)
  if crawler ~= me and is_unfinished(crawler) then
    found[#found + 1] = crawler
    found[#found + 1] = left
  end
end
return found
"""
)

LEAVE = (
    COMMON
    + """
-- the crawler stops in order: what it had not finished is free at once
redis.call('DEL', name .. ':alive:' .. me)
if not is_unfinished(me) then redis.call('SREM', name .. ':crawlers', me) end
"""
)

OWNER = (
    COMMON
    + """
-- ARGV[3] digest, ARGV[4] 1 if it was answered; gives the request that owns a seen form, if it is kept
if held(ARGV[3]) then return ARGV[4] == '1' and redis.call('HGET', requests, ARGV[3]) end
return seen(ARGV[3]) and redis.call('HGET', name .. ':owners', ARGV[3])
"""
)

FORGET_SUBSTITUTES = (
    COMMON
    + """
-- ARGV[3] and all behind it: digests; forgets the substitutes of each, and gives how many they were, and their texts
local texts = {}
for i = 3, #ARGV do
  local waiting = redis.call('HVALS', substitutes_of(ARGV[i]))
  redis.call('UNLINK', substitutes_of(ARGV[i]))
  table.sort(waiting)
  texts[#texts + 1] = #waiting
  for _, text in ipairs(waiting) do texts[#texts + 1] = string.sub(text, 16) end
end
return texts
"""
)
