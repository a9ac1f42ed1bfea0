// Package paramheader has the rules by which HTTP headers repeat what a
// request's body says: how text travels in a header at all, and which arguments
// of a tool its schema wants repeated.
//
//	params, err := paramheader.Parse(tool.InputSchema)
//	if err != nil {
//		return err // the annotations break a rule
//	}
//	headers, err := paramheader.Values(params, req.Arguments)   // at the client
//	err = paramheader.Check(params, req.Arguments, r.Header)    // at the server
package paramheader
