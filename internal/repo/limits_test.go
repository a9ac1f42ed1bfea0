package repo

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A limit is a row of the table of limits.
type limit struct {
	what string
	// option is the package, type and field that set the limit; a package and
	// a constant, where nothing does.
	option string
	// in is the package that fills in the default, if it is another one.
	in    string
	bytes bool
	// answer is what exceeding it leads to.
	answer string
}

var limits = []limit{
	{what: "bytes of a request over HTTP", option: "streamable.Options.MaxBody", bytes: true, answer: "413"},
	{what: "requests of more than 16 KiB being received", option: "streamable.Options.MaxUploads", answer: "503, Retry-After"},
	{what: "the same of one principal", option: "streamable.Options.MaxUploadsPerPrincipal", answer: "429, Retry-After"},
	{what: "bytes of a line or message", option: "dispatch.Options.MaxMessage", bytes: true, answer: "-32700"},
	{what: "bytes of an answer or event over HTTP, at a client", option: "mcpclient.Options.MaxMessage", in: "streamable", bytes: true, answer: "an error of that call"},
	{what: "depth of JSON", option: "wire.DefaultMaxDepth", answer: "-32700"},
	{what: "nominal time to judge a value by a schema", option: "judge.maxWork", in: "internal/judge", answer: "refused, as what would take too long"},
	{what: "requests in flight on a pipe or in a session", option: "dispatch.Options.MaxInFlight", answer: "an error"},
	{what: "requests and notifications in flight outside sessions", option: "streamable.Options.MaxInFlight", answer: "503, Retry-After"},
	{what: "the same of one principal, and its subscriptions", option: "streamable.Options.MaxInFlightPerPrincipal", answer: "429, Retry-After"},
	{what: "notifications that wait to be handled", option: "dispatch.Options.MaxWaiting", answer: "dropped, `OnError` is told"},
	{what: "streams of subscriptions over HTTP", option: "streamable.Options.MaxListeners", answer: "503, Retry-After"},
	{what: "streams of subscriptions of a server", option: "mcpserver.Options.MaxListeners", answer: "an error before the stream begins"},
	{what: "resources that a session or stream watches", option: "mcpserver.Options.MaxSubscriptions", answer: "an error"},
	{what: "events that wait for a stream", option: "mcpserver.Options.MaxWaiting", answer: "the stream ends, with the reason; a session with a handshake misses what is beyond, and the log says so"},
	{what: "sessions", option: "streamable.Options.MaxSessions", answer: "503, Retry-After"},
	{what: "the same of one principal", option: "streamable.Options.MaxSessionsPerPrincipal", answer: "503, Retry-After"},
	{what: "life of an unused session", option: "streamable.Options.SessionIdle", answer: "404"},
	{what: "events kept of a session", option: "streamable.MemoryOptions.MaxEvents", answer: "the oldest goes, resuming before it is refused"},
	{what: "bytes kept of a session", option: "streamable.MemoryOptions.MaxBytes", bytes: true, answer: "the same"},
	{what: "bytes kept of all sessions", option: "streamable.MemoryOptions.MaxTotal", bytes: true, answer: "the same"},
	{what: "time for a client to accept an event, or an answer of more than 2 KiB", option: "streamable.Options.WriteTimeout", answer: "the connection is closed"},
	{what: "time for an answer, begun anew by progress that the call asks for", option: "dispatch.Options.Timeout", answer: "a local error, and the peer is told"},
	{what: "time for an answer in all", option: "dispatch.Options.MaxTimeout", answer: "the same"},
	{what: "rounds of questions in one call", option: "mcpserver.AskOptions.MaxRounds", in: "mcpserver/internal/rounds", answer: "an error"},
	{what: "bytes that a client carries between rounds", option: "mcpserver.AskOptions.MaxState", in: "mcpserver/internal/rounds", bytes: true, answer: "an error"},
	{what: "time for a round", option: "mcpserver.AskOptions.Expiry", in: "mcpserver/internal/rounds", answer: "an error"},
	{what: "tasks that are kept", option: "mcpserver.TaskOptions.Max", answer: "the call waits for its result"},
	{what: "the same of one principal", option: "mcpserver.TaskOptions.MaxEach", answer: "the same"},
	{what: "time that a task is kept", option: "mcpserver.TaskOptions.Keep", answer: "it is given up, and unknown"},
	{what: "rounds that a client answers in one call", option: "mcpclient.Options.MaxRounds", answer: "a local error"},
	{what: "answers that a client keeps", option: "mcpclient.CacheOptions.MaxEntries", answer: "the oldest goes"},
	{what: "bytes that a client keeps", option: "mcpclient.CacheOptions.MaxBytes", bytes: true, answer: "the oldest goes"},
	{what: "bytes of a token", option: "auth.maxToken", bytes: true, answer: "400"},
	{what: "bytes of what an issuer says of itself, its keys or a token", option: "auth.mostFetched", bytes: true, answer: "503"},
	{what: "keys of an issuer", option: "auth.maxKeys", answer: "503"},
	{what: "time from one fetch of keys to the next", option: "auth.fetchPause", answer: "401 for a token with a key that is not known"},
	{what: "time for an issuer to answer", option: "auth.fetchPatience", answer: "503"},
	{what: "time for an issuer to answer a client", option: "auth.askPatience", answer: "an error of that call"},
	{what: "time for a user to agree", option: "auth.TransportOptions.Patience", answer: "an error of that call"},
	{what: "pause after a login that failed", option: "auth.firstPause", answer: "grows up to an hour"},
	{what: "attempts to take up a broken stream", option: "streamable.Backoff.Attempts", answer: "an error of that call"},
}

// limitTable has the defaults of the code, which the documentation of each
// option has to say as well.
func limitTable(t *testing.T) string {
	lines := []string{"| what | default | option | beyond |", "|---|---|---|---|"}
	for _, l := range limits {
		names := strings.Split(l.option, ".")
		field := names[len(names)-1]
		home := filepath.Join(root, "runtime", names[0])
		amount := l.amount(readDefaults(t, filepath.Join(root, "runtime", cmp.Or(l.in, names[0]))).of(field))
		require.NotEmpty(t, amount, "%s has no default", l.option)
		option := "–"
		if len(names) == 3 {
			option = "`" + l.option + "`"
			require.Contains(t, readDefaults(t, home).texts[names[1]+"."+field], amount, "the documentation of %s", l.option)
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s |", l.what, amount, option, l.answer))
	}
	return strings.Join(lines, "\n") + "\n"
}

func (l limit) amount(v any) string {
	switch v := v.(type) {
	case time.Duration:
		if v > 2*time.Minute {
			return fmt.Sprintf("%d min", int(v.Minutes()))
		}
		return fmt.Sprintf("%d s", int(v.Seconds()))
	case int64:
		switch {
		case l.bytes && v%(1<<20) == 0:
			return fmt.Sprintf("%d MiB", v>>20)
		case l.bytes:
			return fmt.Sprintf("%d KiB", v>>10)
		case v >= 1000:
			return fmt.Sprintf("%d,%03d", v/1000, v%1000)
		}
		return fmt.Sprint(v)
	}
	return ""
}
