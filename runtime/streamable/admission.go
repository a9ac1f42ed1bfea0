package streamable

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
)

// admission checks the headers Host and Origin of requests.
type admission struct {
	hosts, origins []string

	// knownHost is the first host that was accepted by its name alone. Most requests
	// have the same host, and need no other check.
	knownHost atomic.Pointer[string]
}

// check returns nil if the host and the origin of a request are allowed.
func (d *admission) check(r *http.Request) *refusal {
	if known := d.knownHost.Load(); (known == nil || *known != r.Host) && !d.hostAllowed(r) {
		return refuse(http.StatusMisdirectedRequest, "Invalid request: host not allowed; see Options.Hosts")
	}
	if fromBrowser(r.Header) && !d.originAllowed(r) {
		return refuse(http.StatusForbidden, "Invalid request: origin not allowed; see Options.Origins")
	}
	return nil
}

// onLoopback reports whether the request came to a loopback address.
func onLoopback(r *http.Request) bool {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// hostAllowed reports whether the header Host is allowed.
func (d *admission) hostAllowed(r *http.Request) bool {
	host, name := r.Host, hostWithoutPort(r.Host)
	listed := slices.ContainsFunc(d.hosts, func(allowed string) bool {
		return allowed == "*" || strings.EqualFold(allowed, host) || strings.EqualFold(allowed, name)
	})
	loopback := isLoopback(name)
	if listed || loopback && len(d.hosts) == 0 {
		if d.knownHost.Load() == nil {
			d.knownHost.Store(new(strings.Clone(host)))
		}
		return true
	}
	if onLoopback(r) {
		return loopback
	}
	return len(d.hosts) == 0
}

// fromBrowser reports whether a browser sent the request for a page.
func fromBrowser(header http.Header) bool {
	return len(header["Origin"]) > 0 || len(header["Sec-Fetch-Site"]) > 0
}

// originAllowed reports whether the page that sent the request is allowed. Browsers
// that send no Origin still send whether the page has another origin.
func (d *admission) originAllowed(r *http.Request) bool {
	origins := r.Header["Origin"]
	switch {
	case slices.Contains(d.origins, "*"):
		return true
	case len(origins) > 1:
		return false
	case len(origins) == 0:
		site := r.Header["Sec-Fetch-Site"][0]
		return site == "" || site == "same-origin" || site == "none"
	}
	if slices.ContainsFunc(d.origins, func(allowed string) bool { return strings.EqualFold(allowed, origins[0]) }) {
		return true
	}
	u, err := url.Parse(origins[0])
	if err != nil || u.Host == "" {
		return false
	}
	return strings.EqualFold(u.Host, r.Host) || isLoopback(u.Hostname()) && onLoopback(r)
}

// hostWithoutPort returns a host without its port.
func hostWithoutPort(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	return strings.Trim(host, "[]")
}

// isLoopback reports whether a name or address is a loopback name or address.
func isLoopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// acceptedTypes are the content types that a client accepts.
type acceptedTypes struct{ json, events bool }

// parseAccept parses the Accept headers. A request without them accepts everything.
func parseAccept(header http.Header) acceptedTypes {
	values := header[mcphttp.HeaderAccept]
	if len(values) == 0 || values[0] == mcphttp.MediaEither {
		return acceptedTypes{true, true}
	}
	var json, events acceptPreference
	for _, value := range values {
		for value != "" {
			var item string
			item, value, _ = strings.Cut(value, ",")
			kind, params, _ := strings.Cut(item, ";")
			kind = strings.TrimSpace(kind)
			accepts := !hasZeroQuality(params)
			json.apply(accepts, kind, mcphttp.MediaJSON, "application/*")
			events.apply(accepts, kind, mcphttp.MediaEvents, "text/*")
		}
	}
	return acceptedTypes{json.accepted, events.accepted}
}

// acceptPreference is the result of all Accept headers for one content type. The most
// specific entry for the type has precedence.
type acceptPreference struct {
	specific int // how specific the best entry so far is, or 0
	accepted bool
}

// apply applies an entry of an Accept header, which accepts or excludes a type.
func (p *acceptPreference) apply(accepts bool, kind, media, family string) {
	specific := 0
	switch {
	case strings.EqualFold(kind, media):
		specific = 3
	case strings.EqualFold(kind, family):
		specific = 2
	case kind == "*/*":
		specific = 1
	}
	if specific > 0 && specific >= p.specific {
		p.specific, p.accepted = specific, accepts || p.accepted && specific == p.specific
	}
}

// hasZeroQuality reports whether the parameters of an entry exclude its type.
func hasZeroQuality(params string) bool {
	for params != "" {
		var param string
		param, params, _ = strings.Cut(params, ";")
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if strings.EqualFold(name, "q") && value != "" && strings.Trim(value, "0.") == "" {
			return true
		}
	}
	return false
}

// isJSON reports whether a content type is JSON.
func isJSON(kind string) bool {
	kind, _, _ = strings.Cut(kind, ";")
	return strings.EqualFold(strings.TrimSpace(kind), mcphttp.MediaJSON)
}

// maxSmallBody is the size up to which a body needs about as little memory as its
// connection. Larger ones are counted.
const maxSmallBody = 16 << 10

// bodyReader reads the bodies of requests. It limits how many large bodies are read
// concurrently.
type bodyReader struct {
	opts       *Options
	smallLimit int // maximum size of bodies that are not counted

	mu    sync.Mutex
	large principalCounter
}

func (u *bodyReader) init(o *Options) {
	u.opts, u.smallLimit = o, maxSmallBody
	if o.MaxBody >= 0 {
		u.smallLimit = min(maxSmallBody, o.MaxBody)
	}
}

// read reads the body of a request up to its end, after which net/http can detect that
// the client has closed the connection. It allocates only for bytes that have arrived,
// and nothing if the headers are invalid.
func (u *bodyReader) read(r *http.Request) (*buffer.Buffer, *refusal) {
	if kind := r.Header[mcphttp.HeaderContentType]; len(kind) != 1 || kind[0] != mcphttp.MediaJSON && !isJSON(kind[0]) {
		return nil, refuse(http.StatusUnsupportedMediaType, "Invalid request: Content-Type must be application/json")
	}
	if coding := r.Header["Content-Encoding"]; len(coding) > 0 && coding[0] != "" && !strings.EqualFold(coding[0], "identity") {
		return nil, refuse(http.StatusUnsupportedMediaType, "Invalid request: Content-Encoding is not supported")
	}
	if limit := u.opts.MaxBody; limit >= 0 && r.ContentLength > int64(limit) {
		return nil, u.bodyTooLong()
	}
	buf := buffer.New()
	if err := mcphttp.ReadBody(buf, r.Body, u.smallLimit); err != nil {
		if refused := u.readLarge(buf, r, err); refused != nil {
			buf.Free()
			return nil, refused
		}
	}
	r.Body.Close() // so that net/http does not look for the end again
	return buf, nil
}

// readLarge reads the rest of a body if err is that the body is not small.
func (u *bodyReader) readLarge(buf *buffer.Buffer, r *http.Request, err error) *refusal {
	if err == mcphttp.ErrBodyTooLong && u.smallLimit != u.opts.MaxBody {
		name := u.opts.Principal(r)
		if refused := u.beginLarge(name); refused != nil {
			return refused
		}
		defer u.endLarge(name)
		err = u.readInSteps(buf, r.Body, name)
	}
	_, limitedByMiddleware := errors.AsType[*http.MaxBytesError](err) // by a middleware
	switch {
	case err == nil:
		return nil
	case err == mcphttp.ErrBodyTooLong || limitedByMiddleware:
		return u.bodyTooLong()
	case err == budget.ErrPrincipalExceeded || err == budget.ErrExceeded:
		refused := u.opts.overBudget(err)
		refused.closeConn = true
		return refused
	}
	return refuse(http.StatusBadRequest, "Invalid request: the body could not be read")
}

// readInSteps reads the rest of a large body. Each step may read four times as many bytes as the
// previous one, and counts them in the budget before it reads them.
func (u *bodyReader) readInSteps(buf *buffer.Buffer, body io.Reader, principal string) error {
	for most := maxSmallBody; ; {
		most *= 4
		if u.opts.MaxBody >= 0 {
			most = min(most, u.opts.MaxBody)
		}
		if err := buf.Hold(u.opts.JSONRPC.Budget, principal, most); err != nil {
			return err
		}
		err := mcphttp.ReadBody(buf, body, most)
		if err == nil {
			return buf.Hold(u.opts.JSONRPC.Budget, principal, cap(buf.Bytes))
		}
		if err != mcphttp.ErrBodyTooLong || most == u.opts.MaxBody {
			return err
		}
	}
}

// overBudget returns the refusal because of an error of the budget.
func (o *Options) overBudget(err error) *refusal {
	refused := &refusal{status: http.StatusServiceUnavailable, err: errOverBudget}
	if err == budget.ErrPrincipalExceeded {
		refused.status = http.StatusTooManyRequests
	}
	return o.overLimit("JSONRPC.Budget", refused)
}

func (u *bodyReader) bodyTooLong() *refusal {
	refused := refuse(http.StatusRequestEntityTooLarge, "Invalid request: the body is too long")
	refused.closeConn = true
	return u.opts.overLimit("MaxBody", refused)
}

// beginLarge counts a large body, if the limits allow it.
func (u *bodyReader) beginLarge(principal string) *refusal {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch o := u.opts; {
	case !u.large.fits(principal, o.MaxUploadsPerPrincipal), !u.large.fits(principal, o.MaxInFlightPerPrincipal):
		return o.overLimit("MaxUploadsPerPrincipal", &refusal{status: http.StatusTooManyRequests, err: errTooManyUploads, closeConn: true})
	case !belowLimit(u.large.total, u.sharedUploads(principal)), !belowLimit(u.large.total, o.MaxInFlight):
		return o.overLimit("MaxUploads", &refusal{status: http.StatusServiceUnavailable, err: errTooManyUploads, closeConn: true})
	}
	u.large.add(principal, 1)
	return nil
}

// sharedUploads returns how many large bodies may be read when a principal sends another one.
// The rest is reserved for named principals that have none.
func (u *bodyReader) sharedUploads(principal string) int {
	most := u.opts.MaxUploads
	if most < 0 || principal != "" && u.large.byPrincipal[principal] == 0 {
		return most
	}
	return most - most/4
}

// endLarge ends the count that beginLarge has begun.
func (u *bodyReader) endLarge(principal string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.large.add(principal, -1)
}

// principalCounter counts things, in total and for each named principal.
type principalCounter struct {
	total       int
	byPrincipal map[string]int
}

// add adds n things of a principal.
func (t *principalCounter) add(principal string, n int) {
	t.total += n
	if principal != "" {
		t.addToPrincipal(principal, n)
	}
}

func (t *principalCounter) addToPrincipal(principal string, n int) {
	if t.byPrincipal == nil {
		t.byPrincipal = make(map[string]int)
	}
	if t.byPrincipal[principal] += n; t.byPrincipal[principal] == 0 {
		delete(t.byPrincipal, principal)
	}
}

// fits reports whether a principal may have one more thing. Anonymous callers have no
// limit.
func (t *principalCounter) fits(principal string, limit int) bool {
	return principal == "" || belowLimit(t.byPrincipal[principal], limit)
}
