package interop

// sdks lists the SDKs under test.
var sdks = []sdk{
	{"mcpwright", ourStdio, ourHandler, ourCommand, ourURL},
	{"go-sdk", goStdio, goHandler, goCommand, goURL},
}
