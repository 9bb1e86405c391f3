//go:build !unix

package disk

func WhyDenied(string) string { return "" }
