//go:build !unix

package disk

// WhyDenied never knows here.
func WhyDenied(string) string { return "" }
