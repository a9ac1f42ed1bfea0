// Package peer is the boundary between the generated protocol code and
// whatever carries its messages. It starts no goroutine and holds no lock.
//
// Everything that can reach the other side is an [Outbound]. A request knows
// its method and the type of its result, so one generic function sends them
// all and the result's type follows from the request:
//
//	res, err := peer.SendRequest(ctx, out, &mcp.CreateMessageRequest{MaxTokens: 100, Messages: messages})
//	if err != nil {
//		return err
//	}
//	fmt.Println(res.Model) // res is a *mcp.CreateMessageResult
//
// A notification does not fit [SendRequest], and a request does not fit
// [SendNotification]: both mistakes fail to compile. A request type of one's
// own fits as soon as it implements [RequestFromContext].
package peer
