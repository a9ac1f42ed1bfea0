package peer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOurCodecRejectsInvalidMessages checks that the measured codec is as strict as the dispatcher.
func TestOurCodecRejectsInvalidMessages(t *testing.T) {
	for kind, message := range map[Kind]string{
		KindCall:  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"a":"\xff"}}}`,
		KindTools: `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object","type":"object"}}]}}`,
	} {
		decode, err := ourCodec{}.Decoder(kind)
		require.NoError(t, err)
		require.Error(t, decode([]byte(message)), kind)
		require.NoError(t, decode(Message(kind)), kind)
	}
}
