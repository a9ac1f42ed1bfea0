package auth

import "fmt"

// Error is the answer of an issuer of tokens that refuses, in the terms of OAuth.
type Error struct {
	// Endpoint is what was asked.
	Endpoint string
	// Code is why, such as "access_denied" or "invalid_grant".
	Code string
	// Description and URI are more about it, for people. They come from the issuer,
	// or from whoever passes for it.
	Description, URI string
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s refuses: %q", e.Endpoint, e.Code)
	if e.Description != "" {
		text += fmt.Sprintf(" (%q)", e.Description)
	}
	if e.URI != "" {
		text += fmt.Sprintf(", see %q", e.URI)
	}
	return text
}
