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
	// option is the package, type and field that set the limit, or a package and a constant if the
	// limit is fixed.
	option string
	// in is the package with the default, if it is not the package of option, and as is the name of the
	// field there, if it has another name.
	in, as string
	bytes  bool
	// exceeded is the consequence of exceeding the limit.
	exceeded string
}

var limits = []limit{
	{what: "bytes of a request over HTTP", option: "streamable.Options.MaxBody", bytes: true, exceeded: "413"},
	{what: "requests of more than 16 KiB that are being received; a quarter is reserved for principals that have none", option: "streamable.Options.MaxUploads", exceeded: "503, Retry-After"},
	{what: "requests of more than 16 KiB that are being received from one principal", option: "streamable.Options.MaxUploadsPerPrincipal", exceeded: "429, Retry-After"},
	{what: "bytes of a line or message", option: "jsonrpc.Options.MaxMessage", bytes: true, exceeded: "-32700"},
	{what: "bytes of a response or event over HTTP that a client reads", option: "mcpclient.Options.MaxMessage", in: "streamable/client", bytes: true, exceeded: "an error of that call"},
	{what: "bytes of requests, responses and stored events that are held for all peers, beginning with 16 KiB for each; a quarter is reserved for principals that hold little, and one principal may hold a quarter", option: "budget.Options.MaxBytes", as: "defaultMaxBytes", bytes: true, exceeded: "503, for one principal 429; Retry-After; on pipes and in sessions an error"},
	{what: "depth of JSON", option: "wire.DefaultMaxDepth", exceeded: "-32700"},
	{what: "estimated time to validate a value by a schema", option: "validate.maxWork", in: "internal/validate", exceeded: "an error: validation would take too long"},
	{what: "requests in flight on a pipe or in a session", option: "jsonrpc.Options.MaxInFlight", exceeded: "an error"},
	{what: "requests and notifications in flight outside sessions, and likewise requests in all sessions", option: "streamable.Options.MaxInFlight", exceeded: "503, Retry-After"},
	{what: "requests of one principal in flight over HTTP; outside sessions also its notifications and subscriptions", option: "streamable.Options.MaxInFlightPerPrincipal", exceeded: "429, Retry-After"},
	{what: "notifications that wait for a handler", option: "jsonrpc.Options.MaxQueuedNotifications", exceeded: "the notification is dropped, and `OnError` is called"},
	{what: "subscription streams over HTTP", option: "streamable.Options.MaxSubscriptionStreams", exceeded: "503, Retry-After"},
	{what: "subscription streams of a server", option: "mcpserver.Options.MaxSubscriptionStreams", exceeded: "an error before the stream begins"},
	{what: "resources that a session or stream is subscribed to", option: "mcpserver.Options.MaxSubscriptions", exceeded: "an error"},
	{what: "events that wait for a stream", option: "mcpserver.Options.MaxQueuedEvents", exceeded: "the stream ends, with the reason; in a session with a handshake the event is dropped and logged"},
	{what: "sessions", option: "streamable.Options.MaxSessions", exceeded: "503, Retry-After"},
	{what: "sessions of one principal", option: "streamable.Options.MaxSessionsPerPrincipal", exceeded: "503, Retry-After"},
	{what: "time until an idle session ends", option: "streamable.Options.SessionIdleTimeout", exceeded: "404"},
	{what: "time until a silent replica counts as gone", option: "scale.Options.Lease", exceeded: "another replica continues its sessions"},
	{what: "time for which a replica serves sessions without the engine, after its lease", option: "scale.Options.Grace", exceeded: "503, Retry-After"},
	{what: "bytes of the shared record of a session", option: "scale.maxRecord", bytes: true, exceeded: "503, Retry-After"},
	{what: "stored events of a session", option: "streamable.MemoryOptions.MaxEvents", exceeded: "the oldest event is deleted, and streams cannot be resumed before it"},
	{what: "stored bytes of a session", option: "streamable.MemoryOptions.MaxBytes", bytes: true, exceeded: "the oldest event is deleted"},
	{what: "stored bytes of all sessions", option: "streamable.MemoryOptions.MaxTotal", as: "defaultMaxTotal", bytes: true, exceeded: "the oldest events of the principal with the most stored bytes are deleted"},
	{what: "time for a client to accept an event, or a response of more than 2 KiB", option: "streamable.Options.WriteTimeout", exceeded: "the connection is closed"},
	{what: "time for a response; progress reports that the call asks for restart it", option: "jsonrpc.Options.Timeout", exceeded: "a local error, and the request is cancelled"},
	{what: "time for a response in total", option: "jsonrpc.Options.MaxTimeout", exceeded: "a local error, and the request is cancelled"},
	{what: "rounds of questions in one call", option: "mcpserver.QuestionOptions.MaxRounds", in: "mcpserver/internal/rounds", exceeded: "an error"},
	{what: "bytes of state that a client carries between rounds", option: "mcpserver.QuestionOptions.MaxState", in: "mcpserver/internal/rounds", bytes: true, exceeded: "an error"},
	{what: "time for a round", option: "mcpserver.QuestionOptions.RoundTTL", in: "mcpserver/internal/rounds", as: "Expiry", exceeded: "an error"},
	{what: "stored tasks", option: "tasks.Options.MaxTasks", exceeded: "the call waits for its result; in 2025-11-25 it may fail"},
	{what: "stored tasks of one principal", option: "tasks.Options.MaxTasksPerPrincipal", exceeded: "the call waits for its result; in 2025-11-25 it may fail"},
	{what: "time that a task is stored", option: "tasks.Options.TTL", as: "defaultTTL", exceeded: "the task is cancelled and deleted"},
	{what: "questions of one client that run as tasks or are stored", option: "mcpclient.maxOwnTasks", exceeded: "an error"},
	{what: "rounds that a client answers in one call", option: "mcpclient.Options.MaxRounds", exceeded: "a local error"},
	{what: "questions that a client answers in one call", option: "mcpclient.Options.MaxQuestions", exceeded: "a local error, and no further question is answered"},
	{what: "tools of a server that a client stores for calls", option: "mcpclient.maxTools", exceeded: "the other tools are called without their output schema"},
	{what: "bytes of a list of tools that a client reads for a call", option: "mcpclient.maxToolList", bytes: true, exceeded: "the rest of the list is not read"},
	{what: "bytes of an output schema", option: "mcpclient.maxOutputSchema", bytes: true, exceeded: "typed calls of the tool fail"},
	{what: "bytes of all output schemas of a server", option: "mcpclient.maxOutputSchemas", bytes: true, exceeded: "typed calls of the other tools fail"},
	{what: "subschemas of a schema", option: "validate.MaxSubschemas", in: "internal/validate", exceeded: "an error: the schema has too many subschemas"},
	{what: "results in the cache of a client", option: "mcpclient.CacheOptions.MaxEntries", exceeded: "the oldest result is deleted"},
	{what: "bytes in the cache of a client", option: "mcpclient.CacheOptions.MaxBytes", bytes: true, exceeded: "the oldest result is deleted"},
	{what: "bytes of a token", option: "auth.maxTokenBytes", bytes: true, exceeded: "400"},
	{what: "bytes of a proof (DPoP)", option: "auth.maxProofBytes", bytes: true, exceeded: "401"},
	{what: "age of a proof or its nonce", option: "auth.DPoPOptions.Window", exceeded: "401, `use_dpop_nonce`"},
	{what: "proofs that a server remembers; a quarter of them for one principal", option: "auth.DPoPOptions.MaxProofs", exceeded: "503, for one principal 429; Retry-After"},
	{what: "repetitions of a client's request because of a nonce", option: "auth.maxNonceRetries", exceeded: "the response with 401"},
	{what: "bytes of an issuer's metadata, keys or token response", option: "auth.maxResponseBytes", bytes: true, exceeded: "503"},
	{what: "keys of an issuer", option: "auth.maxKeys", exceeded: "503"},
	{what: "minimum time between two fetches of keys", option: "auth.keyFetchInterval", exceeded: "503, Retry-After for a token with an unknown key"},
	{what: "time for an issuer to respond to a server", option: "auth.verifierTimeout", exceeded: "503"},
	{what: "time for an issuer to respond to a client", option: "auth.requestTimeout", exceeded: "an error of that call"},
	{what: "time for a user to consent", option: "auth.TransportOptions.LoginTimeout", exceeded: "an error of that call"},
	{what: "time for retries after a temporary failure of an issuer, without a deadline", option: "auth.maxRetryTime", exceeded: "an error of that call"},
	{what: "pause after a failed login", option: "auth.minBackoff", exceeded: "grows up to an hour"},
	{what: "attempts to resume a broken stream, to repeat a refused request, and to deliver a response", option: "streamable/client.Backoff.MaxAttempts", exceeded: "an error of that call; the response is dropped"},
	{what: "pause that a server can ask for with Retry-After", option: "streamable/client.Backoff.MaxDelay", exceeded: "an error of that call"},
}

// limitTable returns the limits with the defaults that are in the code. It fails if the comment of
// an option does not contain the default too.
func limitTable(t *testing.T) string {
	lines := []string{"| limit | default | option | if exceeded |", "|---|---|---|---|"}
	for _, l := range limits {
		names := strings.Split(l.option, ".")
		field := names[len(names)-1]
		home := filepath.Join(root, "runtime", names[0])
		found := readDefaults(t, filepath.Join(root, "runtime", cmp.Or(l.in, names[0])))
		amount := cmp.Or(l.amount(found.of(field)), l.amount(found.of(l.as)))
		require.NotEmpty(t, amount, "%s has no default", l.option)
		option := "–"
		if len(names) == 3 {
			option = "`" + l.option + "`"
			require.Contains(t, readDefaults(t, home).texts[names[1]+"."+field], amount, "the comment of %s lacks its default", l.option)
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s |", l.what, amount, option, l.exceeded))
	}
	return strings.Join(lines, "\n") + "\n"
}

// amount formats a default, or returns "" if there is none.
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
