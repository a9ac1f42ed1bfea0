package typedclient_test

import (
	"context"
	"fmt"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/typedclient/shop"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// order orders tea. The program has connected the client.
func order(ctx context.Context, client *mcpclient.Client) error {
	tools := shop.New(client)
	res, err := tools.Order(ctx, shop.OrderInput{Goods: []string{"tea"}, Size: shop.OrderInputSizeS, Express: new(true)})
	if err != nil {
		return err
	}
	fmt.Println(mcp.TextOf(res.Content))
	return nil
}
