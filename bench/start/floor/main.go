// Command floor responds to each request with a constant.
package main

import (
	"bufio"
	"os"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	for {
		if _, err := in.ReadSlice('\n'); err != nil {
			return
		}
		if _, err := os.Stdout.WriteString(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"floor","version":"1"}}}` + "\n"); err != nil {
			return
		}
	}
}
