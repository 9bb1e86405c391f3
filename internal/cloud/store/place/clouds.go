package place

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/lazyre"
)

// The texts of the errors that the SDKs of Google and Azure make of a response. Their types are in builds
// with tags only.
var (
	googleResponse = lazyre.New(`googleapi: (?:Error|got HTTP response code) (\d{3})(?:: ([^\n]*?)(?:, \w+)?)?(?: with body|\n|$)`)
	azureResponse  = lazyre.New(`(?s)RESPONSE (\d{3}): .*?\nERROR CODE: (\w+)`)
	noToken        = lazyre.New(`oauth2: (?:cannot fetch token: )?(?:Post "[^"]*": )?([^\n]*(?:\nResponse: [^\n]*)?)`)
	noKeyFile      = lazyre.New(`error getting credentials using \w+ environment variable: ([^\n]*)`)
)

// explainCloud explains the response of a store of Google or Azure, and reports whether it did. The
// driver calls the denial of a permission by Google a missing object.
func (p Place) explainCloud(e *Error) bool {
	text := e.Err.Error()
	if found := noKeyFile().FindStringSubmatch(text); found != nil {
		e.kind, e.Reason, e.Advice = ErrDenied, found[1], credentialAdvice(p.URL.Scheme)
		return true
	}
	if found := noToken().FindStringSubmatch(text); found != nil {
		e.kind, e.Reason, e.Advice = ErrDenied,
			"Google does not accept the key: "+clip(strings.ReplaceAll(found[1], "\n", ", ")),
			credentialAdvice(p.URL.Scheme)
		if strings.Contains(found[0], `Post "`) { // the request failed
			p.noResponse(e, "Google's server of tokens is not reachable: "+clip(found[1]))
		}
		return true
	}
	found := googleResponse().FindStringSubmatch(text)
	if found == nil {
		found = azureResponse().FindStringSubmatch(text)
	}
	if found == nil {
		return false
	}
	status, _ := strconv.Atoi(found[1])
	said, _, _ := strings.Cut(found[2], "\n")
	if said == "" {
		said = found[1] + " " + http.StatusText(status)
	}
	e.Reason = "the store says " + clip(secrets().ReplaceAllString(said, "$1=…"))
	switch {
	case status == http.StatusUnauthorized, said == "AuthenticationFailed":
		e.kind, e.Advice = ErrDenied,
			"the store does not accept the credentials: "+credentialAdvice(p.URL.Scheme)
	case status == http.StatusForbidden:
		e.kind, e.Advice = ErrDenied, cloudPermission[p.URL.Scheme]
	case said == "ContainerNotFound", strings.Contains(said, "bucket does not exist"):
		e.kind, e.Advice = ErrNotFound, "make the "+bucketOf(p.URL.Scheme)+" first, or check its name"
	case status == http.StatusNotFound:
		e.kind, e.Reason = ErrNotFound, ErrNotFound.Error()
	case status == http.StatusPreconditionFailed, said == "BlobAlreadyExists":
		e.kind, e.Reason = ErrExists, ErrExists.Error()
	case temporary(status):
		e.kind = ErrUnreachable
	}
	return true
}

// cloudPermission says by scheme which permission a denied request lacks.
var cloudPermission = map[string]string{
	SchemeGS:    "the account lacks a permission: the role Storage Object Viewer to read, Storage Object User to upload",
	SchemeAzure: "the key or token lacks a permission, or the firewall of the account keeps this machine out: read and list to read; create, write and delete to upload",
}
