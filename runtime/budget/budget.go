// Package budget limits the bytes that a program holds for its peers. Without it, a client could
// make a server hold gigabytes with a moderate number of large requests.
//
// All servers of a program share one Budget. To change its limits, set it in the options of the
// connections:
//
//	held := budget.New(&budget.Options{MaxBytes: 1 << 30})
//	handler := streamable.NewHandler(server, &streamable.Options{JSONRPC: jsonrpc.Options{Budget: held}})
package budget

import (
	"bytes"
	"errors"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/mcpwright/mcp/runtime/internal/limit"
)

// A Budget limits the bytes that are held for peers: requests that are being received or handled,
// responses that are being written, and stored events. Only what is larger than 16 KiB counts;
// other limits bound the number of smaller things. The values that are decoded from a request, and
// the result before it is encoded, do not count: leave room for a few times as much memory.
//
// A Budget is safe for concurrent use.
type Budget struct {
	limits func() (total, perPrincipal int64)

	mu          sync.Mutex
	held        int64
	byPrincipal map[string]int64 // without unknown peers
	refused     int64

	results resultSizes
}

// Options are the limits of a [Budget]. A limit that is zero has its default; a negative one means
// no limit.
type Options struct {
	// MaxBytes limits the bytes held for all peers together. A quarter of them is reserved for
	// named principals for which little is held. Default 512 MiB, or a quarter of the program's
	// memory limit if that is less: GOMEMLIMIT, or the limit of its container.
	MaxBytes int
	// MaxBytesPerPrincipal limits the bytes held for one named principal. Default a quarter of
	// MaxBytes.
	MaxBytesPerPrincipal int
}

const (
	defaultMaxBytes = 512 << 20
	// minCounted is the size up to which things are not counted.
	minCounted = 16 << 10
)

// Errors of a [Budget] that does not allow to hold more bytes.
var (
	ErrExceeded          = errors.New("too many bytes are held for peers")
	ErrPrincipalExceeded = errors.New("too many bytes are held for this principal")
)

// New returns a Budget that is not used yet. Nil options are the defaults.
func New(opts *Options) *Budget {
	var o Options
	if opts != nil {
		o = *opts
	}
	return &Budget{limits: sync.OnceValues(o.complete), byPrincipal: make(map[string]int64)}
}

// complete returns the limits. It reads files if a limit has its default, so it is called when the
// limits are first needed.
func (o Options) complete() (total, perPrincipal int64) {
	if o.MaxBytes == 0 {
		o.MaxBytes = min(defaultMaxBytes, memoryLimit()/4)
	}
	o.MaxBytes = limit.Count(o.MaxBytes, 0)
	return int64(o.MaxBytes), int64(limit.Count(o.MaxBytesPerPrincipal, o.MaxBytes/4))
}

// Default returns the Budget that is used if options contain none. It has the default limits.
func Default() *Budget { return shared() }

var shared = sync.OnceValue(func() *Budget { return New(nil) })

// memoryLimit returns the memory limit of the program, or math.MaxInt.
func memoryLimit() int {
	most := debug.SetMemoryLimit(-1)
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // there is no such limit
		}
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && n > 0 {
			most = min(most, n)
		}
	}
	return int(min(most, math.MaxInt))
}

// MaxBytes returns the limit for all peers together.
func (b *Budget) MaxBytes() int {
	total, _ := b.limits()
	return int(total)
}

// Held returns the number of bytes that are held.
func (b *Budget) Held() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int(b.held)
}

// Refused returns how often bytes were refused.
func (b *Budget) Refused() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int(b.refused)
}

// Reserve begins to count n bytes for a principal, or for an unknown peer if the name is empty. It
// returns nil without an error if n is at most 16 KiB. Otherwise the error is [ErrExceeded] or
// [ErrPrincipalExceeded].
func (b *Budget) Reserve(principal string, n int) (*Reservation, error) {
	if n <= minCounted {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.add(principal, int64(n)); err != nil {
		return nil, err
	}
	return &Reservation{budget: b, principal: principal, bytes: int64(n)}, nil
}

// add counts n bytes of a principal, if the limits allow it. The lock is held.
func (b *Budget) add(principal string, n int64) error {
	err := b.check(principal, n)
	if err != nil {
		b.refused++
		return err
	}
	b.held += n
	if principal == "" {
		return nil
	}
	if b.byPrincipal[principal] += n; b.byPrincipal[principal] == 0 {
		delete(b.byPrincipal, principal)
	}
	return nil
}

// check returns an error if the limits do not allow to hold n more bytes. The lock is held.
func (b *Budget) check(principal string, n int64) error {
	if n <= 0 {
		return nil
	}
	total, perPrincipal := b.limits()
	most := total - total/4
	if principal != "" {
		switch after := b.byPrincipal[principal] + n; {
		case after > perPrincipal:
			return ErrPrincipalExceeded
		case after <= perPrincipal/4:
			most = total // the reserved part, too
		}
	}
	if b.held+n > most {
		return ErrExceeded
	}
	return nil
}

// Reservation is a number of bytes that a [Budget] counts, until Release is called. It is safe for
// concurrent use. Nil counts nothing.
type Reservation struct {
	budget    *Budget
	principal string

	// The lock of the budget guards these fields.
	bytes    int64
	released bool
}

// Resize changes the number of bytes of r to n and returns r. If r is nil, it is like Reserve.
func (b *Budget) Resize(r *Reservation, principal string, n int) (*Reservation, error) {
	if r == nil {
		return b.Reserve(principal, n)
	}
	return r, r.Resize(n)
}

// Resize changes the number of bytes to n. If it fails, the number is as before. It has no effect
// after Release.
func (r *Reservation) Resize(n int) error {
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	if r.released {
		return nil
	}
	if err := r.budget.add(r.principal, int64(n)-r.bytes); err != nil {
		return err
	}
	r.bytes = int64(n)
	return nil
}

// Release ends the count. Calling it again has no effect.
func (r *Reservation) Release() {
	if r == nil {
		return
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	_ = r.budget.add(r.principal, -r.bytes) // cannot fail
	r.bytes, r.released = 0, true
}
