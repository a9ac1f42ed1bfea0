package auth

// ServerMetadata is what an authorization server says of itself: RFC 8414, or the
// same document of OpenID Connect.
type ServerMetadata struct {
	// Issuer is the name of the server: the URL that its metadata were found by.
	Issuer string `json:"issuer"`
	// AuthorizationEndpoint is the page where a user agrees.
	AuthorizationEndpoint string `json:"authorization_endpoint,omitempty"`
	// TokenEndpoint is where tokens are got.
	TokenEndpoint string `json:"token_endpoint,omitempty"`
	// JWKSURI is where the keys are by which its tokens are known.
	JWKSURI string `json:"jwks_uri,omitempty"`
	// RegistrationEndpoint is where a client becomes known, empty where it cannot.
	RegistrationEndpoint string `json:"registration_endpoint,omitempty"`
	// ScopesSupported are the scopes that the server knows, nil where it does not say.
	ScopesSupported []string `json:"scopes_supported,omitempty"`
	// GrantTypesSupported are the ways to a token, nil where it does not say.
	GrantTypesSupported []string `json:"grant_types_supported,omitempty"`
	// TokenEndpointAuthMethodsSupported are the ways for a client to prove who it is.
	TokenEndpointAuthMethodsSupported []string `json:"token_endpoint_auth_methods_supported,omitempty"`
	// CodeChallengeMethodsSupported are the ways to tie a code to who asked for it.
	CodeChallengeMethodsSupported []string `json:"code_challenge_methods_supported,omitempty"`
	// ClientIDMetadataDocumentSupported tells that the URL of a document about a
	// client is an id for it.
	ClientIDMetadataDocumentSupported bool `json:"client_id_metadata_document_supported,omitempty"`
	// AuthorizationResponseIssParameterSupported tells that the server names itself
	// when it sends the user back.
	AuthorizationResponseIssParameterSupported bool `json:"authorization_response_iss_parameter_supported,omitempty"`

	assumed bool // nothing was published: the endpoints are where 2025-03-26 has them
}
