package auth

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// DPoPOptions configure how a [Guard] checks tokens that are bound to a key of the client
// (DPoP, RFC 9449). Each request with such a token needs a proof that is signed with the
// key. The zero value is ready to use.
//
// The guard accepts each proof once. It remembers the proofs that it has accepted in
// memory, so each replica of a server accepts a proof once.
type DPoPOptions struct {
	// Required refuses tokens that are not bound to a key.
	Required bool
	// RequireNonce only accepts proofs with a nonce of the guard. A client gets the first
	// nonce in a response with status 401 and repeats its request. Then proofs cannot be
	// made in advance, and the clock of the client does not matter.
	RequireNonce bool
	// NonceKey authenticates nonces. The replicas of a server should have the same key of at
	// least 32 random bytes, so that they accept the nonces of each other. Nil is a random key.
	NonceKey []byte
	// Window is the maximum difference between the time in a proof and the time of the
	// guard, and the maximum age of a nonce. Default 60 s. A client whose clock differs
	// more gets a nonce.
	Window time.Duration
	// MaxProofs limits the accepted proofs that the guard remembers. If there are more
	// within a window, it refuses further requests with status 503. One principal may use
	// a quarter of them; then its requests are refused with status 429. Default 262,144.
	MaxProofs int
	// URL returns the URL that the client has sent a request to. By default, it has the
	// origin of [GuardOptions].Resource and the path of the request. If this path is not
	// below the path of Resource, because a proxy has changed it, it is Resource.
	URL func(*http.Request) string
}

// complete validates the options and sets the defaults.
func (o *DPoPOptions) complete() error {
	switch {
	case o.Window < 0, o.MaxProofs < 0:
		return errors.New("option DPoP: Window and MaxProofs must not be negative")
	case o.NonceKey != nil && len(o.NonceKey) < minNonceKeyBytes:
		return fmt.Errorf("option DPoP: NonceKey has %d bytes, want at least %d", len(o.NonceKey), minNonceKeyBytes)
	case o.NonceKey == nil:
		o.NonceKey = make([]byte, minNonceKeyBytes)
		_, _ = rand.Read(o.NonceKey) // never fails
	}
	if o.Window == 0 {
		o.Window = time.Minute
	}
	if o.MaxProofs == 0 {
		o.MaxProofs = 1 << 18
	}
	return nil
}

const (
	minNonceKeyBytes = 32
	// maxProofBytes limits the length of a proof.
	maxProofBytes = 8 << 10
	// maxProofsShare is the share of DPoPOptions.MaxProofs for one principal: 1/4.
	maxProofsShare = 4
)

// proofVerifier verifies the proofs of requests. It is safe for concurrent use.
type proofVerifier struct {
	DPoPOptions
	resource *url.URL
	parser   *jwt.Parser
	used     usedProofs
}

func newProofVerifier(o DPoPOptions, resource *url.URL) *proofVerifier {
	registerEd25519()
	return &proofVerifier{
		DPoPOptions: o,
		resource:    resource,
		parser:      jwt.NewParser(jwt.WithValidMethods(publicKeyAlgorithms), jwt.WithoutClaimsValidation(), jwt.WithStrictDecoding(), jwt.WithJSONNumber()),
		used:        usedProofs{max: o.MaxProofs, maxOfOwner: max(o.MaxProofs/maxProofsShare, 1), owners: map[string]*proofOwner{}, seen: map[proofID]struct{}{}, expiring: map[int64][]usedProof{}},
	}
}

// errNonceRequired is returned for a proof that needs another nonce.
var errNonceRequired = errors.New("proof without a valid nonce")

// verify checks that the request has a valid proof of the key that the token is bound to,
// and that the proof was not used before. The owner is the principal of the caller.
func (v *proofVerifier) verify(r *http.Request, token, keyThumbprint, owner string) error {
	values := r.Header[dpopHeader]
	switch {
	case len(values) != 1:
		return fmt.Errorf("request has %d proofs", len(values))
	case len(values[0]) > maxProofBytes:
		return fmt.Errorf("proof is longer than %d bytes", maxProofBytes)
	}
	claims := jwt.MapClaims{}
	_, err := v.parser.ParseWithClaims(values[0], claims, func(t *jwt.Token) (any, error) {
		return proofKeyOf(t, keyThumbprint)
	})
	if err != nil {
		return err
	}
	id, err := v.checkClaims(r, claims, token)
	if err != nil {
		return err
	}
	now := time.Now()
	expiry, err := v.expiry(claims, now)
	if err != nil {
		return err
	}
	return v.used.add(sha256.Sum256([]byte(keyThumbprint+" "+id)), owner, now, expiry)
}

// proofKeyOf returns the key in the header of a proof. It must be the key with the given
// thumbprint, so that no other key costs a verification.
func proofKeyOf(t *jwt.Token, keyThumbprint string) (any, error) {
	if t.Header["typ"] != dpopProofType {
		return nil, fmt.Errorf("typ is %v", t.Header["typ"])
	}
	if _, has := t.Header["crit"]; has {
		return nil, errors.New("unsupported header crit")
	}
	members, _ := t.Header["jwk"].(map[string]any)
	if members["d"] != nil || members["k"] != nil {
		return nil, errors.New("jwk is not a public key")
	}
	data, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	var k jwk
	if err := json.Unmarshal(data, &k); err != nil {
		return nil, fmt.Errorf("jwk: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(k.thumbprint()), []byte(keyThumbprint)) == 0 {
		return nil, errors.New("jwk is not the key of the token")
	}
	key, algs := k.publicKey()
	if !slices.Contains(algs, t.Method.Alg()) {
		return nil, fmt.Errorf("algorithm %q is not for the key", t.Method.Alg())
	}
	return key, nil
}

// thumbprint returns the SHA-256 thumbprint of a key.
func (k *jwk) thumbprint() string {
	members := map[string]string{"kty": k.Type}
	for name, value := range map[string]base64URL{"n": k.N, "e": k.E, "x": k.X, "y": k.Y} {
		if value != nil {
			members[name] = base64.RawURLEncoding.EncodeToString(value)
		}
	}
	if k.Curve != "" {
		members["crv"] = k.Curve
	}
	return thumbprint(members)
}

// checkClaims checks that a proof is for the request and the token, and returns its id.
func (v *proofVerifier) checkClaims(r *http.Request, claims jwt.MapClaims, token string) (id string, err error) {
	text := func(name string) string {
		s, _ := claims[name].(string)
		return s
	}
	want, target, err := v.targets(r, text("htu"))
	switch {
	case err != nil:
		return "", err
	case target != want:
		return "", fmt.Errorf("htu is %q, want %q", target, want)
	case text("htm") != r.Method:
		return "", fmt.Errorf("htm is %q, want %q", text("htm"), r.Method)
	case subtle.ConstantTimeCompare([]byte(text("ath")), []byte(hashText(token))) == 0:
		return "", errors.New("ath is not the hash of the token")
	case text("jti") == "":
		return "", errors.New("no jti")
	}
	return text("jti"), nil
}

// targets returns the URL of a request as the client has seen it, and the URL in its proof,
// both without query and in one spelling.
func (v *proofVerifier) targets(r *http.Request, htu string) (want, target string, err error) {
	at := &url.URL{Scheme: v.resource.Scheme, Host: v.resource.Host, Path: r.URL.Path, RawPath: r.URL.RawPath}
	if !isBelow(r.URL.Path, v.resource.Path) {
		at = v.resource
	}
	if v.URL != nil {
		if at, err = url.Parse(v.URL(r)); err != nil {
			return "", "", fmt.Errorf("DPoPOptions.URL: %w", err)
		}
	}
	in, err := url.Parse(htu)
	if err != nil {
		return "", "", errors.New("htu is not a URL")
	}
	return normalURL(at), normalURL(in), nil
}

// normalURL returns a URL without query, in one spelling.
func normalURL(u *url.URL) string {
	return strings.ToLower(originOf(u)) + cmp.Or(u.EscapedPath(), "/")
}

// expiry returns the time until which a proof is valid. The time of a proof is the time of
// its nonce if it has a valid one, otherwise the time at which the client made it.
func (v *proofVerifier) expiry(claims jwt.MapClaims, now time.Time) (time.Time, error) {
	if nonce, _ := claims["nonce"].(string); nonce != "" {
		issued, ok := v.nonceTime(nonce)
		if expiry := issued.Add(v.Window); ok && now.Before(expiry) {
			return expiry, nil
		}
		return time.Time{}, errNonceRequired
	}
	number, _ := claims["iat"].(json.Number)
	seconds, err := number.Float64()
	if err != nil || math.Abs(seconds) > 1<<40 {
		return time.Time{}, fmt.Errorf("iat is %v", claims["iat"])
	}
	made := time.Unix(int64(seconds), 0)
	if v.RequireNonce || now.Sub(made).Abs() > v.Window {
		return time.Time{}, errNonceRequired
	}
	return made.Add(v.Window + time.Second), nil // iat has no fraction
}

// nonce returns a new nonce: the time, and a code that authenticates it.
func (v *proofVerifier) nonce(now time.Time) string {
	data := binary.BigEndian.AppendUint64(nil, uint64(now.Unix()))
	return base64.RawURLEncoding.EncodeToString(append(data, v.nonceCode(data)...))
}

func (v *proofVerifier) nonceCode(data []byte) []byte {
	h := hmac.New(sha256.New, v.NonceKey)
	h.Write(data)
	return h.Sum(nil)[:16]
}

// nonceTime returns the time of a nonce, and reports whether the guard has made it.
func (v *proofVerifier) nonceTime(nonce string) (time.Time, bool) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(nonce)
	if err != nil || len(data) != 8+16 || !hmac.Equal(data[8:], v.nonceCode(data[:8])) {
		return time.Time{}, false
	}
	return time.Unix(int64(binary.BigEndian.Uint64(data)), 0), true
}

// proofID identifies a proof: a hash of its key and its jti.
type proofID [sha256.Size]byte

// usedProofs has the proofs that were accepted and are still valid. A proof is never
// removed before it expires: if there is no space, further proofs are refused. It is safe
// for concurrent use.
type usedProofs struct {
	max, maxOfOwner int

	mu       sync.Mutex
	seen     map[proofID]struct{}
	owners   map[string]*proofOwner
	expiring map[int64][]usedProof // by the second in which they expire
	purged   int64                 // proofs that expire before this second have been removed
}

type usedProof struct {
	id    proofID
	owner *proofOwner
}

// proofOwner counts the proofs of one principal.
type proofOwner struct {
	name  string
	count int
}

var (
	errReplayed        = errors.New("proof was used before")
	errTooManyProofs   = errors.New("too many proofs")
	errTooManyOfCaller = errors.New("too many proofs of one principal")
)

// add adds a proof. It returns an error if the proof is known, or if there is no space.
func (u *usedProofs) add(id proofID, owner string, now, expiry time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.purge(now.Unix())
	o := u.owners[owner]
	_, known := u.seen[id]
	switch {
	case known:
		return errReplayed
	case o != nil && o.count >= u.maxOfOwner:
		return errTooManyOfCaller
	case len(u.seen) >= u.max:
		return errTooManyProofs
	case o == nil:
		o = &proofOwner{name: owner}
		u.owners[owner] = o
	}
	o.count++
	u.seen[id] = struct{}{}
	second := expiry.Unix()
	u.expiring[second] = append(u.expiring[second], usedProof{id, o})
	return nil
}

// purge removes the proofs that have expired. It has work once in a second.
func (u *usedProofs) purge(now int64) {
	if u.purged == now {
		return
	}
	u.purged = now
	for second, proofs := range u.expiring {
		if second >= now {
			continue
		}
		for _, p := range proofs {
			delete(u.seen, p.id)
			if p.owner.count--; p.owner.count == 0 {
				delete(u.owners, p.owner.name)
			}
		}
		delete(u.expiring, second)
	}
}

// checkKey checks the proof of a request whose token is bound to a key, and that other
// tokens are bearer tokens. It returns the response that refuses the request, or nil.
func (g *Guard) checkKey(r *http.Request, caller *Caller, scheme, token string) *errorResponse {
	ctx := r.Context()
	if caller.KeyThumbprint == "" {
		if strings.EqualFold(scheme, dpopScheme) || g.proofs.Required {
			g.opts.Logger.DebugContext(ctx, "auth: token refused", "error", "it is not bound to a key")
			return &invalidToken
		}
		return nil
	}
	if !strings.EqualFold(scheme, dpopScheme) {
		g.opts.Logger.DebugContext(ctx, "auth: token refused", "error", "it is bound to a key, but was sent as a bearer token")
		return &invalidToken
	}
	err := g.verifyProof(r, token, caller)
	if err == nil {
		return nil
	}
	g.opts.Logger.DebugContext(ctx, "auth: proof refused", "error", err)
	switch {
	case errors.Is(err, errNonceRequired):
		return &nonceRequired
	case errors.Is(err, errTooManyOfCaller):
		return &tooManyOfCaller
	case errors.Is(err, errTooManyProofs):
		g.opts.Logger.ErrorContext(ctx, "auth: requests refused: too many proofs, see DPoPOptions.MaxProofs")
		return &tooManyProofs
	}
	return &invalidProof
}

// verifyProof calls the proof verifier. A panic of the function URL becomes an error.
func (g *Guard) verifyProof(r *http.Request, token string, caller *Caller) (err error) {
	defer recoverPanic("DPoPOptions.URL", &err)
	return g.proofs.verify(r, token, caller.KeyThumbprint, callerContext{caller: caller}.Principal())
}

// offersDPoP reports whether clients should get tokens that are bound to a key.
func (g *Guard) offersDPoP() bool { return g.opts.DPoP != nil }

// renewNonce adds a new nonce to a response, if proofs need one. Clients then use it
// before the old one expires.
func (g *Guard) renewNonce(w http.ResponseWriter) {
	if g.proofs.RequireNonce {
		w.Header().Set(dpopNonceHeader, g.proofs.nonce(time.Now()))
	}
}
