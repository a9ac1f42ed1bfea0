package streamable

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
)

// door lets requests in by where they come from and where they are going.
type door struct {
	hosts, origins []string

	// usual is the first host that was let in and always will be. Most requests
	// are addressed to it.
	usual atomic.Pointer[string]
}

// check judges Host and Origin.
func (d *door) check(r *http.Request) *refusal {
	if usual := d.usual.Load(); (usual == nil || *usual != r.Host) && !d.hostAllowed(r) {
		return refuse(http.StatusMisdirectedRequest, "Invalid request: this server does not go by that name; see Options.Hosts")
	}
	if fromPage(r.Header) && !d.originAllowed(r) {
		return refuse(http.StatusForbidden, "Invalid request: pages of that origin may not send requests; see Options.Origins")
	}
	return nil
}

// onLoopback tells whether the request came to a loopback address.
func onLoopback(r *http.Request) bool {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// hostAllowed judges whom the request is addressed to.
func (d *door) hostAllowed(r *http.Request) bool {
	host, name := r.Host, nameOf(r.Host)
	listed := slices.ContainsFunc(d.hosts, func(allowed string) bool {
		return allowed == "*" || strings.EqualFold(allowed, host) || strings.EqualFold(allowed, name)
	})
	loopback := isLoopback(name)
	if listed || loopback && len(d.hosts) == 0 {
		if d.usual.Load() == nil {
			d.usual.Store(new(strings.Clone(host)))
		}
		return true
	}
	if onLoopback(r) {
		return loopback
	}
	return len(d.hosts) == 0
}

// fromPage tells whether a browser sends the request.
func fromPage(header http.Header) bool {
	return len(header["Origin"]) > 0 || len(header["Sec-Fetch-Site"]) > 0
}

// originAllowed judges which page sends the request. A browser that leaves out the
// origin says at least whether the page is of another site.
func (d *door) originAllowed(r *http.Request) bool {
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

// nameOf is a host without its port.
func nameOf(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	return strings.Trim(host, "[]")
}

// isLoopback tells whether a name or address means this machine.
func isLoopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// accepted is what a client takes as an answer.
type accepted struct{ json, events bool }

// acceptedBy reads the Accept headers. None at all accepts everything.
func acceptedBy(header http.Header) accepted {
	values := header[headerAccept]
	if len(values) == 0 || values[0] == mediaEither {
		return accepted{true, true}
	}
	var json, events preference
	for _, value := range values {
		for value != "" {
			var item string
			item, value, _ = strings.Cut(value, ",")
			kind, params, _ := strings.Cut(item, ";")
			kind = strings.TrimSpace(kind)
			takes := !refused(params)
			json.heed(takes, kind, mediaJSON, "application/*")
			events.heed(takes, kind, mediaEvents, "text/*")
		}
	}
	return accepted{json.takes, events.takes}
}

// preference is what Accept headers say of one type. The most specific of them that
// is about it decides.
type preference struct {
	specific int // how specific that one is, 0 where there was none
	takes    bool
}

// heed heeds that a client takes a kind, or does not.
func (p *preference) heed(takes bool, kind, media, family string) {
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
		p.specific, p.takes = specific, takes || p.takes && specific == p.specific
	}
}

// refused tells whether the parameters of an accepted type say that it is not.
func refused(params string) bool {
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

// isJSON tells whether a content type is JSON.
func isJSON(kind string) bool {
	kind, _, _ = strings.Cut(kind, ";")
	return strings.EqualFold(strings.TrimSpace(kind), mediaJSON)
}
