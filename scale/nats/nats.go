// Package nats stores sessions and events of replicas in NATS JetStream.
//
// [Engine] is the table and the log of runtime/engine: a key-value bucket and a stream. It needs
// servers of version 2.11 or newer that have JetStream and the setting "sync_interval: always".
// With another setting, a server acknowledges writes that a power failure destroys.
package nats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/mcpwright/mcp/runtime/engine"
)

// Options are the options of an [Engine]. Nil and the zero value are safe to use.
type Options struct {
	// Name is the name of the bucket, and the beginning of the name of the stream. It has
	// letters, digits, "-" and "_". Default "mcp".
	Name string
	// Copies is the number of servers that store each write, 1, 3 or 5. Default 1.
	Copies int
	// System is a connection to the system account of the servers. [New] uses it to check
	// their settings, and does not close it. Nil omits the check, with a warning.
	System *nats.Conn
	// Unsynced accepts servers without "sync_interval: always". A power failure of all of
	// the servers may then destroy acknowledged writes.
	Unsynced bool
	// Logger receives warnings. Nil means [slog.Default].
	Logger *slog.Logger
}

// markerTTL is the time for which the server stores that a record has ended.
const markerTTL = time.Minute

// maxEntries limits the entries of a log.
const maxEntries = 1000

// Engine is an [engine.Table] and an [engine.Log] in JetStream. It is safe for concurrent use.
type Engine struct {
	conn   *nats.Conn
	js     jetstream.JetStream
	bucket jetstream.KeyValue
	stream jetstream.Stream
	opts   Options
	table  string // the beginning of the subjects of records
	log    string // the beginning of the subjects of entries
}

// New creates the bucket and the stream unless they exist, and checks the servers. It does not change the settings of
// a stream that exists: an operator may limit its size or add copies. It returns an error if the stream has fewer
// copies than Options.Copies, or would delete messages to stay in its limits. While servers elect a
// leader, it waits until ctx ends if ctx has a deadline, and otherwise for 5 seconds. The caller closes the connection
// after its last use of the engine.
func New(ctx context.Context, conn *nats.Conn, opts *Options) (*Engine, error) {
	o := opts.complete()
	if err := o.checkServers(ctx); err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	e := &Engine{conn: conn, js: js, opts: o, table: "$KV." + o.Name + ".", log: o.Name + ".log."}
	if err := e.createInTime(ctx, &o); err != nil {
		return nil, err
	}
	return e, nil
}

// createInTime creates the bucket and the stream before ctx ends. Servers that elect a leader do not respond, so a
// request is repeated that gets no response.
func (e *Engine) createInTime(ctx context.Context, o *Options) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, requestTimeout)
		err := e.create(attempt, o)
		cancel()
		_, limited := ctx.Deadline()
		if err == nil || ctx.Err() != nil || !limited || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}

// complete returns a copy of o with defaults. Nil is all defaults.
func (o *Options) complete() (c Options) {
	if o != nil {
		c = *o
	}
	if c.Name == "" {
		c.Name = "mcp"
	}
	if c.Copies == 0 {
		c.Copies = 1
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// create opens the bucket and the stream, or creates them.
func (e *Engine) create(ctx context.Context, o *Options) (err error) {
	bucket, err := e.js.KeyValue(ctx, o.Name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		bucket, err = e.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: o.Name, Description: "records of package scale", Replicas: o.Copies, LimitMarkerTTL: markerTTL,
		})
	}
	if errors.Is(err, jetstream.ErrBucketExists) { // another replica has created it
		bucket, err = e.js.KeyValue(ctx, o.Name)
	}
	if err != nil {
		return fmt.Errorf("nats: create bucket %q: %w", o.Name, err)
	}
	e.bucket = bucket
	records, err := e.js.Stream(ctx, "KV_"+o.Name)
	if err != nil {
		return fmt.Errorf("nats: open stream %q: %w", "KV_"+o.Name, err)
	}
	e.stream, err = e.createStream(ctx, &jetstream.StreamConfig{
		Name: o.Name + "-log", Description: "events of package scale", Subjects: []string{e.log + ">"}, Replicas: o.Copies,
		MaxMsgsPerSubject: maxEntries, Discard: jetstream.DiscardNew, AllowDirect: true, AllowMsgTTL: true,
	})
	if err != nil {
		return err
	}
	return errors.Join(o.checkStream(records), o.checkStream(e.stream))
}

// createStream opens a stream, or creates it. It does not change the settings of a stream that exists.
func (e *Engine) createStream(ctx context.Context, c *jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := e.js.Stream(ctx, c.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = e.js.CreateStream(ctx, *c)
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another replica has created it
		s, err = e.js.Stream(ctx, c.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("nats: create stream %q: %w", c.Name, err)
	}
	return s, nil
}

// checkStream returns an error if the settings of a stream do not suit records or events.
func (o *Options) checkStream(s jetstream.Stream) error {
	c := s.CachedInfo().Config
	switch {
	case c.Replicas < o.Copies:
		return fmt.Errorf("nats: stream %q has %d copies, and Options.Copies is %d", c.Name, c.Replicas, o.Copies)
	case !c.AllowMsgTTL, !c.AllowDirect:
		return fmt.Errorf(`nats: stream %q needs the settings "allow_msg_ttl" and "allow_direct"`, c.Name)
	case c.Discard == jetstream.DiscardOld && (c.MaxBytes > 0 || c.MaxMsgs > 0):
		return fmt.Errorf(`nats: stream %q would delete messages at its limits; set "discard: new"`, c.Name)
	}
	return nil
}

// syncReply is the part of a server's response that contains its setting.
type syncReply struct {
	Server struct {
		Name string `json:"name"`
	} `json:"server"`
	Data struct {
		Disabled bool `json:"disabled"`
		Config   struct {
			SyncInterval time.Duration `json:"sync_interval"`
			SyncAlways   bool          `json:"sync_always"`
		} `json:"config"`
	} `json:"data"`
}

// replyTimeout is the time without a response after which no more responses are expected.
const replyTimeout = 500 * time.Millisecond

// checkServers returns an error if a server does not sync each write.
func (o *Options) checkServers(ctx context.Context) error {
	switch {
	case o.Unsynced:
		return nil
	case o.System == nil:
		o.Logger.Warn(`nats: the setting "sync_interval: always" of the servers was not checked: there is no connection to the system account`)
		return nil
	}
	sub, err := o.System.SubscribeSync(o.System.NewInbox())
	if err != nil {
		return fmt.Errorf("nats: check servers: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := o.System.PublishRequest("$SYS.REQ.SERVER.PING.JSZ", sub.Subject, nil); err != nil {
		return fmt.Errorf("nats: check servers: %w", err)
	}
	for n := 0; ; n++ {
		next, cancel := context.WithTimeout(ctx, replyTimeout)
		m, err := sub.NextMsgWithContext(next)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded) && n > 0:
			return nil
		case err != nil || len(m.Data) == 0:
			return errors.New("nats: check servers: the system connection has no access to the system account, or the servers do not respond")
		}
		if err := checkSync(m.Data); err != nil {
			return err
		}
	}
}

// checkSync checks the setting in the response of one server.
func checkSync(data []byte) error {
	var r syncReply
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("nats: check servers: %w", err)
	}
	if r.Data.Disabled || r.Data.Config.SyncAlways {
		return nil
	}
	return fmt.Errorf(`nats: server %q has the setting "sync_interval: %v"; set "sync_interval: always"`, r.Server.Name, r.Data.Config.SyncInterval)
}

// lastMessage is the last message of a subject, according to the leader of its stream.
type lastMessage struct {
	Sequence uint64 `json:"seq"`
	Header   []byte `json:"hdrs"`
	Data     []byte `json:"data"`
}

// marker reports whether the message marks the end of a record.
func (m *lastMessage) marker() bool {
	return bytes.Contains(m.Header, []byte("\r\nKV-Operation:")) || bytes.Contains(m.Header, []byte("\r\nNats-Marker-Reason:"))
}

// noMessage is the code of a subject without messages.
const noMessage = 10037

// last returns the last message of a subject. It has the sequence 0 if there is none. Unlike a
// direct get, the request goes to the leader, which has all acknowledged messages.
func (e *Engine) last(ctx context.Context, stream, subject string) (m lastMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := json.Marshal(map[string]string{"last_by_subj": subject})
	if err != nil {
		return m, err
	}
	reply, err := e.conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, request)
	if err != nil {
		return m, fmt.Errorf("nats: read: %w", err)
	}
	var r struct {
		Message lastMessage         `json:"message"`
		Error   *jetstream.APIError `json:"error"`
	}
	switch err := json.Unmarshal(reply.Data, &r); {
	case err != nil:
		return m, fmt.Errorf("nats: read: %w", err)
	case r.Error != nil && r.Error.ErrorCode == noMessage:
		return m, nil
	case r.Error != nil:
		return m, fmt.Errorf("nats: read: %w", r.Error)
	}
	return r.Message, nil
}

// requestTimeout limits the time of a request.
const requestTimeout = 5 * time.Second

// Get implements [engine.Table].
func (e *Engine) Get(ctx context.Context, key string) (engine.Record, error) {
	m, err := e.last(ctx, "KV_"+e.bucket.Bucket(), e.table+key)
	switch {
	case err != nil:
		return engine.Record{}, err
	case m.Sequence == 0 || m.marker():
		return engine.Record{}, engine.ErrNone
	}
	return engine.Record{Data: m.Data, Version: m.Sequence}, nil
}

// Put implements [engine.Table].
func (e *Engine) Put(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	version, err := e.publish(ctx, e.table+key, data, prev, keep)
	if prev > 0 || !errors.Is(err, engine.ErrConflict) {
		return version, err
	}
	// The last message may be a marker that a record has ended.
	m, err := e.last(ctx, "KV_"+e.bucket.Bucket(), e.table+key)
	switch {
	case err != nil:
		return 0, err
	case m.Sequence > 0 && !m.marker():
		return 0, engine.ErrConflict
	}
	return e.publish(ctx, e.table+key, data, m.Sequence, keep)
}

// publish adds a message if the last one of its subject has the sequence prev.
func (e *Engine) publish(ctx context.Context, subject string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	m := nats.NewMsg(subject)
	m.Data = data
	m.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(prev, 10))
	m.Header.Set("Nats-TTL", strconv.FormatInt(max(int64((keep+time.Second-1)/time.Second), 1), 10))
	ack, err := e.js.PublishMsg(ctx, m)
	if err != nil {
		return 0, wrap(err)
	}
	return ack.Sequence, nil
}

// wrongLastConstant is the code of another sequence on servers with several copies.
const wrongLastConstant = 10164

// wrap returns ErrConflict if the server has found another sequence.
func wrap(err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == wrongLastConstant) {
		return engine.ErrConflict
	}
	return fmt.Errorf("nats: %w", err)
}

// Delete implements [engine.Table].
func (e *Engine) Delete(ctx context.Context, key string, prev uint64) error {
	if prev == 0 {
		return engine.ErrConflict
	}
	if err := e.bucket.Purge(ctx, key, jetstream.LastRevision(prev), jetstream.PurgeTTL(markerTTL)); err != nil {
		return wrap(err)
	}
	return nil
}

// Append implements [engine.Log].
func (e *Engine) Append(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	return e.publish(ctx, e.log+key, data, prev, keep)
}

// Read implements [engine.Log]. A direct get is answered by any server that has a copy, with
// all messages at once. It is repeated until it has the last message of the leader.
func (e *Engine) Read(ctx context.Context, key string, after uint64) (list []engine.Entry, err error) {
	last, err := e.last(ctx, e.stream.CachedInfo().Config.Name, e.log+key)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for after < last.Sequence {
		part, err := e.readPart(ctx, e.log+key, after)
		if err != nil {
			return nil, err
		}
		if len(part) > 0 {
			list, after = append(list, part...), part[len(part)-1].Number
			continue
		}
		select {
		case <-time.After(staleDelay):
		case <-ctx.Done():
			return nil, fmt.Errorf("nats: read log: %w", ctx.Err())
		}
		// The entries may have ended, or the log may have been dropped.
		if last, err = e.last(ctx, e.stream.CachedInfo().Config.Name, e.log+key); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// staleDelay is the time before a direct get is repeated because it was answered by a server
// that did not have the last message.
const staleDelay = 5 * time.Millisecond

// readPart reads messages with one request. There may be more.
func (e *Engine) readPart(ctx context.Context, subject string, after uint64) (list []engine.Entry, err error) {
	sub, err := e.conn.SubscribeSync(e.conn.NewInbox())
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	request, err := json.Marshal(map[string]any{"seq": after + 1, "next_by_subj": subject, "batch": maxEntries})
	if err != nil {
		return nil, err
	}
	if err := e.conn.PublishRequest("$JS.API.DIRECT.GET."+e.stream.CachedInfo().Config.Name, sub.Subject, request); err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, fmt.Errorf("nats: read log: %w", err)
		}
		switch status := m.Header.Get("Status"); status {
		case "":
		case "204", "404": // the end of the batch
			return list, nil
		default:
			return nil, fmt.Errorf("nats: read log: status %s %s", status, strings.TrimSpace(m.Header.Get("Description")))
		}
		number, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("nats: read log: %w", err)
		}
		list = append(list, engine.Entry{Number: number, Data: m.Data})
	}
}

// Drop implements [engine.Log].
func (e *Engine) Drop(ctx context.Context, key string) error {
	if err := e.stream.Purge(ctx, jetstream.WithPurgeSubject(e.log+key)); err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	return nil
}
