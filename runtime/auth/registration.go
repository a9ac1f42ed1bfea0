package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Registration is what one issuer knows a client as, and how the client proves that it
// is the one. It is never shown to another issuer.
type Registration struct {
	// Issuer is the one that knows the client.
	Issuer string `json:"issuer"`
	// ClientID is the client's name there.
	ClientID string `json:"client_id"`
	// ClientSecret is a password; empty is none.
	ClientSecret string `json:"client_secret,omitempty"`
	// Key signs proofs, in place of a secret: a private key of RSA, ECDSA or Ed25519.
	Key crypto.Signer `json:"-"`
	// KeyID tells the issuer which of the client's keys it is.
	KeyID string `json:"-"`
	// Method is how to show the secret: "client_secret_basic", "client_secret_post",
	// or "none" not to. Empty is what the issuer takes.
	Method string `json:"token_endpoint_auth_method,omitempty"`

	redirect string // that the client has registered itself with, empty where others did it
}

// enrolled is a registration of the client's own, as the issuer tells it and the store
// keeps it.
type enrolled struct {
	*Registration
	Redirect string  `json:"redirect_uri,omitempty"`
	Expires  seconds `json:"client_secret_expires_at,omitempty"` // since 1970, 0 is never
}

// prove puts who the client is into a request to a token endpoint.
func (r *Registration) prove(at *ServerMetadata, header http.Header, form url.Values) error {
	if r.Issuer != at.Issuer {
		return fmt.Errorf("client %q is known to %q, not to %q", r.ClientID, r.Issuer, at.Issuer)
	}
	switch r.method(at) {
	case "private_key_jwt":
		proof, err := r.proof(at.Issuer)
		if err != nil {
			return fmt.Errorf("proof that the client is %q: %w", r.ClientID, err)
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", proof)
		form.Set("client_id", r.ClientID)
	case "client_secret_basic":
		basicAuth(header, r.ClientID, r.ClientSecret)
	case "client_secret_post":
		form.Set("client_id", r.ClientID)
		form.Set("client_secret", r.ClientSecret)
	case "none":
		form.Set("client_id", r.ClientID)
	default:
		return fmt.Errorf("client %q: method %q is none of this package's", r.ClientID, r.Method)
	}
	return nil
}

// basicAuth puts a client's name and password into a header, as OAuth escapes them.
func basicAuth(header http.Header, id, secret string) {
	(&http.Request{Header: header}).SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
}

// method returns how to prove it.
func (r *Registration) method(at *ServerMetadata) string {
	list := at.TokenEndpointAuthMethodsSupported
	switch {
	case r.Key != nil:
		return "private_key_jwt"
	case r.Method != "":
		return r.Method
	case r.ClientSecret == "":
		return "none"
	case !slices.Contains(list, "client_secret_basic") && slices.Contains(list, "client_secret_post"):
		return "client_secret_post"
	}
	return "client_secret_basic"
}

// proof returns a statement of the client about itself, for one issuer, signed.
func (r *Registration) proof(audience string) (string, error) {
	if r.Key == nil {
		return "", errors.New("Registration.Key is missing")
	}
	var how jwt.SigningMethod
	switch key := r.Key.Public().(type) {
	case *rsa.PublicKey:
		how = jwt.SigningMethodRS256
	case *ecdsa.PublicKey:
		how = map[int]jwt.SigningMethod{256: jwt.SigningMethodES256, 384: jwt.SigningMethodES384, 521: jwt.SigningMethodES512}[key.Params().BitSize]
	case ed25519.PublicKey:
		how = jwt.SigningMethodEdDSA
	}
	if how == nil {
		return "", fmt.Errorf("no method to sign with a key of type %T", r.Key)
	}
	now := time.Now()
	token := jwt.NewWithClaims(how, jwt.RegisteredClaims{
		Issuer:    r.ClientID,
		Subject:   r.ClientID,
		Audience:  jwt.ClaimStrings{audience},
		ID:        rand.Text(),
		IssuedAt:  jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(2 * time.Minute)),
	})
	if r.KeyID != "" {
		token.Header["kid"] = r.KeyID
	}
	return token.SignedString(r.Key)
}

// registered returns what the client has registered itself as before, nil for nothing.
func (n *Need) registered(ctx context.Context) (*Registration, error) {
	data, err := n.store.Load(ctx, n.clientKey())
	if err != nil {
		return nil, fmt.Errorf("load %q: %w", n.clientKey(), err)
	}
	r := enrolled{Registration: &Registration{}}
	if data == nil || json.Unmarshal(data, &r) != nil || r.Issuer != n.Server.Issuer || r.ClientID == "" {
		return nil, nil
	}
	if r.Expires > 0 && seconds(time.Now().Unix()) >= r.Expires {
		return nil, nil
	}
	r.redirect = r.Redirect
	return r.Registration, nil
}

func (n *Need) clientKey() string { return "client " + n.Server.Issuer }

// register makes the client known to the issuer, and keeps as what.
func (n *Need) register(ctx context.Context, about map[string]any, redirect string) (*Registration, error) {
	endpoint := n.Server.RegistrationEndpoint
	if endpoint == "" {
		return nil, fmt.Errorf("%q: the issuer does not know this client, and registers none: it has to be told there by hand", n.Server.Issuer)
	}
	u, err := n.fetch.check(endpoint)
	if err != nil {
		return nil, fmt.Errorf("registration endpoint: %w", err)
	}
	data, err := json.Marshal(about)
	if err != nil {
		return nil, fmt.Errorf("registration: %w", err)
	}
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	body, err := n.fetch.post(ctx, u, header, data)
	if err != nil {
		return nil, fmt.Errorf("registration: %w", err)
	}
	r := enrolled{Registration: &Registration{}}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("registration at %q: %w", endpoint, err)
	}
	if r.ClientID == "" {
		return nil, fmt.Errorf("registration at %q: there is no client id in the response", endpoint)
	}
	r.Issuer, r.Redirect, r.redirect = n.Server.Issuer, redirect, redirect
	if err := r.prove(n.Server, http.Header{}, url.Values{}); err != nil {
		return nil, fmt.Errorf("registration at %q: %w", endpoint, err)
	}
	if err := n.remember(ctx, &r); err != nil {
		n.log.Error("auth: registration was not saved, and will be made again", "issuer", r.Issuer, "error", err)
	}
	return r.Registration, nil
}

// remember keeps a registration; nil forgets it.
func (n *Need) remember(ctx context.Context, r *enrolled) error {
	var data []byte
	if r != nil {
		var err error
		if data, err = json.Marshal(r); err != nil {
			return err
		}
	}
	return n.store.Save(ctx, n.clientKey(), data)
}
