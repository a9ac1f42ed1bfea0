package apps

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// domains returns the lists of a ResourceCSP with the schemes that their origins may have.
func domains(c *ResourceCSP) []domainList {
	pages := []string{"https", "http"}
	return []domainList{
		{"connectDomains", c.ConnectDomains, []string{"https", "http", "wss", "ws"}},
		{"resourceDomains", c.ResourceDomains, pages},
		{"frameDomains", c.FrameDomains, pages},
		{"baseUriDomains", c.BaseURIDomains, pages},
	}
}

type domainList struct {
	name    string
	origins []string
	schemes []string
}

// valid returns the valid origins of the list.
func (l domainList) valid() []string {
	return slices.DeleteFunc(slices.Clone(l.origins), func(origin string) bool { return checkOrigin(origin, l.schemes) != nil })
}

// isZero reports whether a description of a view is empty.
func isZero(m *ResourceMeta) bool {
	return m.CSP == nil && m.Permissions == nil && m.Domain == "" && !m.PrefersBorder && len(m.Extra) == 0
}

// checkOrigins checks the origins that a view may use.
func checkOrigins(m *ResourceMeta) error {
	if m.CSP == nil {
		return nil
	}
	for _, list := range domains(m.CSP) {
		for _, origin := range list.origins {
			if err := checkOrigin(origin, list.schemes); err != nil {
				return fmt.Errorf("%s: %w", list.name, err)
			}
		}
	}
	return nil
}

// checkOrigin checks that a text is an origin with one of the schemes. The host may begin with
// "*.". A text with other characters could add directives to a policy.
func checkOrigin(text string, schemes []string) error {
	problem := func(reason string) error {
		return fmt.Errorf("invalid origin %q: %s; want an origin such as %q", text, reason, "https://cdn.example.com")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return problem("not a URL")
	case !slices.Contains(schemes, u.Scheme):
		return problem("scheme must be one of " + strings.Join(schemes, ", "))
	case u.Host == "" || text != u.Scheme+"://"+u.Host:
		return problem("more than a scheme, a host and a port")
	case !isHost(u.Hostname()):
		return problem("invalid host")
	}
	return nil
}

// isHost reports whether a text is the name or address of a host. The first label of a name may
// be "*".
func isHost(host string) bool {
	host = strings.TrimPrefix(host, "*.")
	return host != "" && strings.Trim(host, ":.-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// policy returns the Content-Security-Policy of a view.
func policy(m *ResourceMeta) string {
	csp := m.CSP
	if csp == nil {
		csp = new(ResourceCSP)
	}
	lists := domains(csp)
	connect, resource, frame, base := lists[0].valid(), lists[1].valid(), lists[2].valid(), lists[3].valid()
	var directives []string
	add := func(name string, fixed []string, origins []string) {
		sources := slices.Concat(fixed, origins)
		if len(sources) == 0 {
			sources = []string{"'none'"}
		}
		directives = append(directives, name+" "+strings.Join(sources, " "))
	}
	inline := []string{"'unsafe-inline'"}
	add("default-src", nil, nil)
	add("script-src", inline, resource)
	add("style-src", inline, resource)
	add("img-src", []string{"data:"}, resource)
	add("media-src", []string{"data:"}, resource)
	add("font-src", nil, resource)
	add("connect-src", nil, connect)
	add("frame-src", nil, frame)
	add("base-uri", nil, base)
	add("object-src", nil, nil)
	add("form-action", nil, nil)
	return strings.Join(directives, "; ")
}

// allow returns the value of the attribute "allow" of a frame with the permissions.
func allow(p *ResourcePermissions) string {
	var features []string
	for _, x := range []struct {
		needed  bool
		feature string
	}{
		{p.Camera != nil, "camera"},
		{p.Microphone != nil, "microphone"},
		{p.Geolocation != nil, "geolocation"},
		{p.ClipboardWrite != nil, "clipboard-write"},
	} {
		if x.needed {
			features = append(features, x.feature)
		}
	}
	return strings.Join(features, "; ")
}
