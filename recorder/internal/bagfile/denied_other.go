//go:build !unix

package bagfile

func whyDenied(string) string { return "" }
