// Package redis stores sessions and events of replicas in Redis 7 or newer, or in Valkey.
//
// [Engine] is the table and the log of runtime/engine. Each change is a script on one key, so
// that a cluster works too. Redis acknowledges a write before its replicas have it: a failover
// may lose acknowledged writes. Module scale/nats has an engine without this gap.
package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/mcpwright/mcp/runtime/engine"
)

// Options are the options of an [Engine]. Nil and the zero value are safe to use.
type Options struct {
	// Prefix is the beginning of all keys. Default "mcp:".
	Prefix string
	// Logger receives warnings. Nil means [slog.Default].
	Logger *slog.Logger
}

// Engine is an [engine.Table] and an [engine.Log] in Redis. It is safe for concurrent use.
type Engine struct {
	client rueidis.Client
	prefix string
	logger *slog.Logger
}

// New checks the server. The caller closes the client after its last use of the engine.
func New(ctx context.Context, client rueidis.Client, opts *Options) (*Engine, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Prefix == "" {
		o.Prefix = "mcp:"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	info, err := client.Do(ctx, client.B().Info().Build()).ToString()
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	if policy := infoValue(info, "maxmemory_policy"); policy != "noeviction" {
		return nil, fmt.Errorf("redis: the server has the setting %q; set \"maxmemory-policy noeviction\"", "maxmemory-policy "+policy)
	}
	if infoValue(info, "aof_enabled") != "1" {
		o.Logger.Warn(`redis: the server loses acknowledged writes when it ends; set "appendonly yes" and "appendfsync always"`)
	}
	return &Engine{client, o.Prefix, o.Logger}, nil
}

// infoValue returns a value of the command INFO, or the empty string.
func infoValue(info, name string) string {
	_, rest, _ := strings.Cut(info, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(value)
}

// next is the part of a script that makes a version or number. It is the time in microseconds,
// so that none comes twice after a key has ended, and at least one more than the last one.
const next = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function next(last)
	return string.format('%.0f', math.max(time[1] * 1000000 + time[2], tonumber(last) + 1))
end
`

var (
	putScript = rueidis.NewLuaScript(next + `
local version = redis.call('HGET', KEYS[1], 'version') or '0'
if version ~= ARGV[2] then return '0' end
version = next(version)
redis.call('HSET', KEYS[1], 'version', version, 'data', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return version`)

	deleteScript = rueidis.NewLuaScript(`
if redis.call('HGET', KEYS[1], 'version') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`)

	// An entry of the stream contains the time of its end.
	appendScript = rueidis.NewLuaScript(next + `
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local number = last and string.match(last[1], '^%d+') or '0'
if number ~= ARGV[2] then return '0' end
number = next(number)
local left = redis.call('PTTL', KEYS[1])
redis.call('XADD', KEYS[1], 'MAXLEN', 1000, number .. '-0', 'data', ARGV[1], 'ends', string.format('%.0f', now + ARGV[3]))
redis.call('PEXPIRE', KEYS[1], math.max(left, tonumber(ARGV[3])))
return number`)

	readScript = rueidis.NewLuaScriptReadOnly(next + `
local list = {}
for _, e in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1] .. '-0', '+')) do
	if tonumber(e[2][4]) > now then
		list[#list + 1] = string.match(e[1], '^%d+')
		list[#list + 1] = e[2][2]
	end
end
return list`)
)

// Get implements [engine.Table].
func (e *Engine) Get(ctx context.Context, key string) (engine.Record, error) {
	values, err := e.client.Do(ctx, e.client.B().Hmget().Key(e.record(key)).Field("version", "data").Build()).ToArray()
	if err != nil {
		return engine.Record{}, fmt.Errorf("redis: %w", err)
	}
	if values[0].IsNil() {
		return engine.Record{}, engine.ErrNone
	}
	text, err := values[0].ToString()
	data, err2 := values[1].ToString()
	version, err3 := strconv.ParseUint(text, 10, 64)
	if err := errors.Join(err, err2, err3); err != nil {
		return engine.Record{}, fmt.Errorf("redis: invalid record %q: %w", key, err)
	}
	return engine.Record{Data: []byte(data), Version: version}, nil
}

func (e *Engine) record(key string) string { return e.prefix + "record:" + key }
func (e *Engine) log(key string) string    { return e.prefix + "log:" + key }

// Put implements [engine.Table].
func (e *Engine) Put(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	return e.change(ctx, putScript, e.record(key), data, prev, keep)
}

// change runs a script that returns the new version or number, or 0 after a conflict.
func (e *Engine) change(ctx context.Context, script *rueidis.Lua, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	milliseconds := max(int64((keep+time.Millisecond-1)/time.Millisecond), 1)
	text, err := script.Exec(ctx, e.client, []string{key}, []string{string(data), strconv.FormatUint(prev, 10), strconv.FormatInt(milliseconds, 10)}).ToString()
	if err != nil {
		return 0, fmt.Errorf("redis: %w", err)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("redis: %w", err)
	case n == 0:
		return 0, engine.ErrConflict
	}
	return n, nil
}

// Delete implements [engine.Table].
func (e *Engine) Delete(ctx context.Context, key string, prev uint64) error {
	n, err := deleteScript.Exec(ctx, e.client, []string{e.record(key)}, []string{strconv.FormatUint(prev, 10)}).ToInt64()
	switch {
	case err != nil:
		return fmt.Errorf("redis: %w", err)
	case n == 0:
		return engine.ErrConflict
	}
	return nil
}

// Append implements [engine.Log].
func (e *Engine) Append(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	return e.change(ctx, appendScript, e.log(key), data, prev, keep)
}

// Read implements [engine.Log].
func (e *Engine) Read(ctx context.Context, key string, after uint64) ([]engine.Entry, error) {
	values, err := readScript.Exec(ctx, e.client, []string{e.log(key)}, []string{strconv.FormatUint(after, 10)}).AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	var list []engine.Entry
	for i := 0; i+1 < len(values); i += 2 {
		number, err := strconv.ParseUint(values[i], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
		list = append(list, engine.Entry{Number: number, Data: []byte(values[i+1])})
	}
	return list, nil
}

// Drop implements [engine.Log].
func (e *Engine) Drop(ctx context.Context, key string) error {
	if err := e.client.Do(ctx, e.client.B().Del().Key(e.log(key)).Build()).Error(); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return nil
}
