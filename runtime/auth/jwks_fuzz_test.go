package auth

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzParseKeys(f *testing.F) {
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"1","use":"sig","alg":"RS256"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","key_ops":["verify"]},null,1]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, err := parseKeys(data)
		require.Equal(t, err == nil, keys != nil)
		for _, k := range keys {
			require.NotNil(t, k.key)
			require.Subset(t, publicKeyAlgorithms, k.algs)
		}
	})
}
