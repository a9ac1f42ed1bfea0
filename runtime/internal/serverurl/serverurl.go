// Package serverurl parses the URLs of servers.
package serverurl

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Parse parses the URL of a server. An error contains nothing of the URL but its scheme, because the URL
// may contain a password.
func Parse(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		return nil, errors.New("the URL has no scheme, expected a URL such as https://example.com/mcp")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("the URL is invalid, expected a URL such as https://example.com/mcp")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the URL has scheme %q, expected http or https", u.Scheme)
	case u.Host == "":
		return nil, errors.New("the URL has no host")
	}
	return u, nil
}

// Redact returns a URL without credentials and query, for errors and logs.
func Redact(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// RedactText is like Redact for a text that may be no URL of a server.
func RedactText(text string) string {
	prefix := ""
	if text != "" && !strings.Contains(text, "://") {
		prefix = "http://"
	}
	u, err := url.Parse(prefix + text)
	if err != nil {
		return "invalid URL"
	}
	return strings.TrimPrefix(Redact(u), prefix)
}
