"""Lua commands that run atomically inside Redis, and the keys of a seen set there.

Keys, all with the prefix NAME: ``seen:0A1B`` (hashes by the first two bytes of the digest, small enough for Redis to
pack them: rest of the digest -> crawler, rules, owner), ``awaited`` (digest -> crawler, state, rules, tag of the
owner), ``requests`` (digest -> text), ``substitutes:DIGEST`` (tag -> number, text; of awaited forms), ``substitute``
(the last number), ``owners`` (digest -> text, of the forms seen last) and ``owned`` (their digests in order),
``of:CRAWLER`` (digests that a crawler awaits), ``dropped:CRAWLER`` (codes of rules) and ``dropped:CRAWLER:RULES``
(texts of kept drops), ``tests`` (crawler and rule -> tests that agreed, that did not, and 1 if the rule is switched
off), ``crawlers``, ``alive:CRAWLER`` (expires without a heartbeat), ``size`` (seen forms), ``facts``.

A crawler is 8 hexadecimal digits, rules are 2 bytes, a tag is 4 bytes, of which a seen form keeps the last 2. The
state of an awaited form is ``c`` (claimed), ``h`` (free; its request was handed to the crawler to be sent) or ``H``
(handed out twice, because the first answer of Redis may have been lost). A form that is not awaited has no substitutes.
"""

from __future__ import annotations

_COMMON = """
-- ARGV: prefix of the keys, crawler, then the arguments of the command
local name, me = ARGV[1] .. ':', ARGV[2]
local awaited, requests = name .. 'awaited', name .. 'requests'
local call, sub = redis.call, string.sub
local lives = {}

local function is_alive(crawler)
  if crawler == me then return true end
  if lives[crawler] == nil then lives[crawler] = call('EXISTS', name .. 'alive:' .. crawler) == 1 end
  return lives[crawler]
end

local function bucket(digest)
  return name .. 'seen:' .. string.format('%02x%02x', string.byte(digest, 1, 2)), sub(digest, 3)
end

local function held(digest) -- crawler, state, rules, tag
  local value = call('HGET', awaited, digest)
  if value then return sub(value, 1, 8), sub(value, 9, 9), sub(value, 10, 11), sub(value, 12, 15) end
end

local function seen(digest) -- half of the crawler, rules, half of the tag
  local key, rest = bucket(digest)
  local value = call('HGET', key, rest)
  if value then return sub(value, 1, 4), sub(value, 5, 6), sub(value, 7, 8) end
end

local function see(digest, crawler, rules, tag)
  local key, rest = bucket(digest)
  if call('HSET', key, rest, sub(crawler, 1, 4) .. rules .. sub(tag, 3, 4)) == 1 then call('INCR', name .. 'size') end
end

local function unsee(digest)
  local key, rest = bucket(digest)
  if call('HDEL', key, rest) == 1 then call('DECR', name .. 'size') end
end

local function substitutes_of(digest)
  return name .. 'substitutes:' .. digest
end

local function wait(digest, tag, text)
  if call('HEXISTS', substitutes_of(digest), tag) == 0 then
    call('HSET', substitutes_of(digest), tag, string.format('%015d', call('INCR', name .. 'substitute')) .. text)
  end
end

local function hand_out(digest, text, state, rules_and_tag)
  call('HSET', awaited, digest, me .. state .. rules_and_tag)
  call('HSET', requests, digest, text)
  call('SADD', name .. 'of:' .. me, digest)
end

local function free(digest, crawler) -- returns the oldest substitute, which this crawler must send
  call('SREM', name .. 'of:' .. crawler, digest)
  local waiting = call('HGETALL', substitutes_of(digest))
  local tag, oldest, text
  for i = 1, #waiting, 2 do
    local number = sub(waiting[i + 1], 1, 15)
    if not oldest or number < oldest then tag, oldest, text = waiting[i], number, sub(waiting[i + 1], 16) end
  end
  if text then
    call('HDEL', substitutes_of(digest), tag)
    hand_out(digest, text, 'h', '\\0\\0' .. tag)
    return text
  end
  call('HDEL', awaited, digest)
  call('HDEL', requests, digest)
  return false
end

local function is_unfinished(crawler)
  return call('EXISTS', name .. 'of:' .. crawler, name .. 'dropped:' .. crawler) > 0
end

local function drop(rules, text)
  call('SADD', name .. 'dropped:' .. me, rules)
  call('SADD', name .. 'dropped:' .. me .. ':' .. rules, text)
end

local function size()
  return tonumber(call('GET', name .. 'size') or 0) + call('SCARD', name .. 'of:' .. me)
end

local function beat(milliseconds)
  call('SET', name .. 'alive:' .. me, 1, 'PX', milliseconds)
  call('SADD', name .. 'crawlers', me)
end
"""

_COMMANDS = {
    "claim": """
-- ARGV[3] milliseconds, ARGV[4] invalid rules, 2 bytes each; then digest, rules and tag, request ('': none)
-- returns the size of the set, then for each claim: standing * 65536 + rules of the owner
beat(ARGV[3])
local is_invalid = {}
for i = 1, #ARGV[4], 2 do is_invalid[sub(ARGV[4], i, i + 1)] = true end

local function take(digest, tag, request, crawler, earlier_tag)
  if crawler then
    call('SREM', name .. 'of:' .. crawler, digest)
    local url = sub(tag, 3, 6)
    call('HDEL', substitutes_of(digest), url)
    -- the earlier owner's request may be in flight: keep it as a substitute, and as a drop by the rules of the claim
    local earlier = call('HGET', requests, digest)
    if earlier and earlier_tag ~= url then
      wait(digest, earlier_tag, earlier)
      drop(sub(tag, 1, 2), earlier)
    end
  end
  call('HSET', awaited, digest, me .. 'c' .. tag)
  call('SADD', name .. 'of:' .. me, digest)
  if request == '' then call('HDEL', requests, digest) else call('HSET', requests, digest, request) end
end

local function claim(digest, tag, request)
  local owner = sub(tag, 5, 6)
  local crawler, state, rules, earlier_tag = held(digest)
  if crawler then
    if state == 'c' and is_alive(crawler) and not is_invalid[rules] then
      if crawler == me and sub(earlier_tag, 3, 4) == owner then return 1, rules end
      return 3, rules
    end
  else
    local seer, earlier_owner
    seer, rules, earlier_owner = seen(digest)
    if seer then
      if not is_invalid[rules] then
        if seer == sub(me, 1, 4) and earlier_owner == owner then return 2, rules end
        return 4, rules
      end
      unsee(digest)
    end
  end
  take(digest, tag, request, crawler, earlier_tag)
  return 0, sub(tag, 1, 2)
end

local replies = {0}
for i = 5, #ARGV, 3 do
  local standing, rules = claim(ARGV[i], ARGV[i + 1], ARGV[i + 2])
  local high, low = string.byte(rules, 1, 2)
  replies[#replies + 1] = standing * 65536 + high * 256 + low
end
replies[1] = size()
return replies
""",
    "wait": """
-- ARGV[3] digest, ARGV[4] tag, ARGV[5] substitute; returns 1 if its URL may be dropped
local crawler, state = held(ARGV[3])
if not crawler then return seen(ARGV[3]) and 1 or 0 end
if state ~= 'c' or not is_alive(crawler) then return 0 end
wait(ARGV[3], ARGV[4], ARGV[5])
return 1
""",
    "beat": """
local news = {}

local function processed(digest)
  local crawler, _, rules, tag = held(digest)
  if not crawler then return end -- Redis lost the claim and its rules
  local text = call('HGET', requests, digest)
  if text and call('HSET', name .. 'owners', digest, text) == 1 and call('RPUSH', name .. 'owned', digest) > 20000 then
    call('HDEL', name .. 'owners', call('LPOP', name .. 'owned'))
  end
  call('HDEL', awaited, digest)
  call('HDEL', requests, digest)
  call('UNLINK', substitutes_of(digest))
  call('SREM', name .. 'of:' .. crawler, digest)
  see(digest, crawler, rules, tag)
end

function news.processed(digests)
  for i = 1, #digests, 16 do processed(sub(digests, i, i + 15)) end
end

function news.restored(digest, tag)
  if not held(digest) and not seen(digest) then see(digest, '----', sub(tag, 1, 2), sub(tag, 3, 6)) end
end

news.dropped = drop

function news.forgotten(rules) -- '': all
  if rules == '' then
    for _, each in ipairs(call('SMEMBERS', name .. 'dropped:' .. me)) do news.forgotten(each) end
  end
  call('UNLINK', name .. 'dropped:' .. me .. ':' .. rules)
  call('SREM', name .. 'dropped:' .. me, rules)
end

-- ARGV[3] milliseconds; then kind, subject and rest of each news; returns the size of the set
beat(ARGV[3])
for i = 4, #ARGV, 3 do news[ARGV[i]](ARGV[i + 1], ARGV[i + 2]) end
return size()
""",
    "release": """
-- ARGV[3] digest; returns the size of the set and, if this crawler owned the form, its oldest substitute; a seen form
-- is forgotten
local crawler, state = held(ARGV[3])
local text = false
if not crawler then
  unsee(ARGV[3])
elseif crawler == me and state == 'c' then
  text = free(ARGV[3], me)
end
return {size(), text}
""",
    "swallowed": """
-- ARGV[3] maximum of texts, then answered digests; returns the requests to send in place of this crawler's own
local is_answered, texts = {}, {}
for i = 4, #ARGV do is_answered[ARGV[i]] = true end
for _, digest in ipairs(call('SMEMBERS', name .. 'of:' .. me)) do
  if #texts >= tonumber(ARGV[3]) then break end
  if not is_answered[digest] then
    local crawler, state, rules, tag = held(digest)
    local text = false
    if crawler ~= me then
      call('SREM', name .. 'of:' .. me, digest)
    elseif state == 'h' then
      text = call('HGET', requests, digest)
      hand_out(digest, text, 'H', rules .. tag)
    else
      text = free(digest, me)
    end
    if text then texts[#texts + 1] = text end
  end
end
return texts
""",
    "rescue": """
-- ARGV[3] maximum of requests of either kind; returns requests of crawlers that died, which this crawler must send, and
-- their kept drops, which this crawler must keep
local n_at_most = tonumber(ARGV[3])
local texts, drops = {}, {}

local function rescue_drops(crawler)
  local key = name .. 'dropped:' .. crawler
  for _, rules in ipairs(call('SMEMBERS', key)) do
    if #drops == n_at_most then return end
    for _, text in ipairs(call('SPOP', key .. ':' .. rules, n_at_most - #drops)) do
      drop(rules, text)
      drops[#drops + 1] = text
    end
    if call('EXISTS', key .. ':' .. rules) == 0 then call('SREM', key, rules) end
  end
end

local function rescue_forms(crawler)
  while #texts < n_at_most do
    local digest = call('SPOP', name .. 'of:' .. crawler)
    if not digest then return end
    local holder, _, rules, tag = held(digest)
    if holder == crawler then
      local text = call('HGET', requests, digest)
      if text then hand_out(digest, text, 'h', rules .. tag) else text = free(digest, crawler) end
      if text then texts[#texts + 1] = text end
    end
  end
end

for _, crawler in ipairs(call('SMEMBERS', name .. 'crawlers')) do
  if not is_alive(crawler) then
    rescue_forms(crawler)
    rescue_drops(crawler)
    if not is_unfinished(crawler) then call('SREM', name .. 'crawlers', crawler) end
  end
end
for _, text in ipairs(drops) do texts[#texts + 1] = text end
return texts
""",
    "others": """
-- returns each other crawler with unfinished forms or kept drops, and its remaining milliseconds; less than 0: it is
-- dead
local found = {}
for _, crawler in ipairs(call('SMEMBERS', name .. 'crawlers')) do
  if crawler ~= me and is_unfinished(crawler) then
    found[#found + 1] = crawler
    found[#found + 1] = call('PTTL', name .. 'alive:' .. crawler)
  end
end
return found
""",
    "leave": """
-- the crawler stops in order: its unfinished forms are free at once
call('DEL', name .. 'alive:' .. me)
if not is_unfinished(me) then call('SREM', name .. 'crawlers', me) end
""",
    "owner": """
-- ARGV[3] digest, ARGV[4] 1 if it was answered; returns the request that owns a seen form, if it is kept
if held(ARGV[3]) then return ARGV[4] == '1' and call('HGET', requests, ARGV[3]) end
return seen(ARGV[3]) and call('HGET', name .. 'owners', ARGV[3])
""",
    "clear": """
-- ARGV[3] and further: answered digests; forgets all forms, and returns the awaited requests, and the substitutes of
-- forms that are not answered
local is_answered, substitutes = {}, {}
for i = 3, #ARGV do is_answered[ARGV[i]] = true end
for _, digest in ipairs(call('HKEYS', awaited)) do
  local waiting = is_answered[digest] and {} or call('HVALS', substitutes_of(digest))
  table.sort(waiting)
  for _, text in ipairs(waiting) do substitutes[#substitutes + 1] = sub(text, 16) end
  call('UNLINK', substitutes_of(digest))
end
local texts = call('HVALS', requests)
for number = 0, 65535 do call('UNLINK', string.format('%sseen:%04x', name, number)) end
for _, key in ipairs({'awaited', 'requests', 'owners', 'owned', 'size', 'of:' .. me}) do call('UNLINK', name .. key) end
return {texts, substitutes}
""",
}

SCRIPTS = {command: _COMMON + script for command, script in _COMMANDS.items()}
"""Script of each command."""
