// Package mcpclient connects a program to servers of the Model Context
// Protocol: over HTTP, over the standard input and output of a command, or in
// the same process.
//
//	client, err := mcpclient.Connect(ctx, mcpclient.URL("http://127.0.0.1:8080/mcp"), nil)
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	for tool, err := range client.Tools(ctx) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(tool.Name, tool.Description)
//	}
//
// A [Client] is a [mcp.ServerPeer]: every request that a server can be sent is a
// method of it. [ToolHandler] calls a tool with Go values in place of JSON:
//
//	weather, err := mcpclient.CallTool[Weather](ctx, client, "weather", City{"Bern"})
//
// Options of a call are bound to a view of the client: progress reports, log
// messages about the call, a timeout.
//
//	client.With(peer.OnProgress(show), mcpclient.OnLog(mcp.LoggingLevelInfo, print)).CallTool(ctx, req)
//
// # Eras
//
// Up to revision 2025-11-25 a session begins with a handshake; later each
// request says itself who sends it. [Connect] finds out what the server speaks
// and takes the newest revision that both know. Nothing else in a program has
// to know: the same handlers answer a server that asks by requests of its own and
// one that asks in its answers, and [Client.Watch] hears of changes either way.
//
// # Questions of the server
//
// A server may ask for input while it handles a request. Whom it may ask is what
// the [Options] have handlers for. The answer to a form gets the form's defaults
// for the fields that it leaves out, and is checked against the form, before it
// is sent. A URL is never opened: [Options.OnElicit] shows it to the user.
//
// # Lists and resources that are kept
//
// Servers since 2026-07-28 say how long an answer may be kept. A client keeps it
// as long as that, asks again when a notification tells of a change, and hands
// out copies. [Client.Uncached] asks in any case.
//
// # When the connection breaks
//
// A call fails with a type that tells why: *[peer.TimeoutError],
// *[peer.ClosedError] with the cause of the end, *[peer.Error] of the server's. A
// broken stream, a bad message or a failed request beside it does no more harm
// than that. A session that its server has forgotten is opened anew, a server of
// the other era in its place is found out, a process that has ended is started
// again where [Options.Restarts] allows. The call that met with it is sent again if
// it was certainly not handled, and only then. [Client.Done] and [Client.Err] tell
// when all is over, and why.
package mcpclient
