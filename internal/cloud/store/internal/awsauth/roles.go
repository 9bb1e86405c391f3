package awsauth

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Bounds of an answer with credentials.
const (
	maxAnswerBytes = 64 << 10
	roleTimeout    = time.Minute
)

// ErrAway means that the service that gives out roles sends no answer, or none at the moment.
var ErrAway = errors.New("the service for roles is not available")

// assume takes a role with credentials.
func (p *Provider) assume(ctx context.Context, c Credentials, role Profile) (Credentials, error) {
	switch {
	case role["mfa_serial"] != "":
		return Credentials{},
			errors.New("the role of the profile needs a second factor (mfa_serial), for which nobody is here")
	case c.Key == "":
		return Credentials{}, ErrNone
	}
	form := url.Values{"Action": {"AssumeRole"}, "ExternalId": {role["external_id"]}}
	return p.askSTS(ctx, &c, form, role)
}

// assumeWithToken takes a role with the token of a file, which somebody else renews.
func (p *Provider) assumeWithToken(ctx context.Context, role Profile) (Credentials, error) {
	token, err := os.ReadFile(role["web_identity_token_file"])
	if err != nil {
		return Credentials{}, err
	}
	form := url.Values{
		"Action":           {"AssumeRoleWithWebIdentity"},
		"WebIdentityToken": {strings.TrimSpace(string(token))},
	}
	return p.askSTS(ctx, nil, form, role)
}

// askSTS asks the service that gives out roles.
func (p *Provider) askSTS(
	ctx context.Context, with *Credentials, form url.Values, role Profile,
) (Credentials, error) {
	form.Set("Version", "2011-06-15")
	form.Set("RoleArn", role["role_arn"])
	form.Set("RoleSessionName", cmp.Or(role["role_session_name"], "gorosbag"))
	form.Set("DurationSeconds", role["duration_seconds"])
	for name, values := range form {
		if values[0] == "" {
			form.Del(name)
		}
	}
	region := cmp.Or(p.Region, "us-east-1")
	domain := "amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	address := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_STS"), os.Getenv("AWS_ENDPOINT_URL"),
		"https://sts."+region+"."+domain)
	body := []byte(form.Encode())
	ctx, cancel := context.WithTimeout(ctx, roleTimeout)
	defer cancel()
	address = strings.TrimSuffix(address, "/") + "/"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body)) //nolint:gosec // the environment names the service
	if err != nil {
		return Credentials{}, errors.New("the address of the service for roles is no URL")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if with != nil {
		hash := sha256.Sum256(body)
		Sign(req, hex.EncodeToString(hash[:]), *with, "sts", region, time.Now())
	}
	status, text, err := do(p.Client, req)
	switch {
	case err != nil:
		return Credentials{}, fmt.Errorf("%w: %w", ErrAway, err)
	case status >= http.StatusInternalServerError, status == http.StatusTooManyRequests:
		return Credentials{}, fmt.Errorf("%w (status %d)", ErrAway, status)
	}
	var answer struct { // of AssumeRole, of AssumeRoleWithWebIdentity, or an error
		Own    stsCredentials `xml:"AssumeRoleResult>Credentials"`
		Token  stsCredentials `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
		Code   string         `xml:"Error>Code"`
		Reason string         `xml:"Error>Message"`
	}
	if err := xml.Unmarshal(text, &answer); err != nil || status != http.StatusOK { //nolint:gosec // into texts
		return Credentials{},
			fmt.Errorf("the role %s is refused: %s %s (status %d)", role["role_arn"], answer.Code,
				answer.Reason, status)
	}
	got := cmp.Or(answer.Own, answer.Token)
	if got.AccessKeyID == "" || got.SecretAccessKey == "" {
		return Credentials{}, fmt.Errorf("the answer about the role %s has no credentials", role["role_arn"])
	}
	return Credentials{got.AccessKeyID, got.SecretAccessKey, got.SessionToken, got.Expiration}, nil
}

// stsCredentials are those of an answer about a role.
type stsCredentials struct {
	AccessKeyID     string `xml:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string
	Expiration      time.Time
}

// do sends a request, and returns the status and the body of the response.
func do(client *http.Client, req *http.Request) (int, []byte, error) {
	resp, err := client.Do(req) //nolint:gosec // the environment names the service
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	return resp.StatusCode, text, err
}

// The addresses of the services that a container and a machine have for their programs.
const (
	containerAddress = "http://169.254.170.2"
	machineAddress   = "http://169.254.169.254"
)

// local returns a client for services of this machine: without a proxy, without long waits where there is
// none, and without redirects, which would lead tokens elsewhere.
func local() *http.Client {
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: time.Second}).DialContext, DisableKeepAlives: true,
	}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// fromContainer asks the service that the environment of a container names.
func (p *Provider) fromContainer(ctx context.Context) (Credentials, error) {
	address := os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if relative := os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); relative != "" {
		address = containerAddress + relative
	}
	if address == "" {
		return Credentials{}, nil
	}
	token := os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if file := os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
		text, err := os.ReadFile(file) //nolint:gosec // the environment of the container names it
		if err != nil {
			return Credentials{}, err
		}
		token = strings.TrimSpace(string(text))
	}
	return ask(ctx, http.MethodGet, address, map[string]string{"Authorization": token},
		"the service of the container")
}

// fromEC2 asks the service that a machine of EC2 has for its programs. Its token does not reach
// containers, unless the machine is set up for that: then the answers may be had without.
func (p *Provider) fromEC2(ctx context.Context) (Credentials, error) {
	if strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		return Credentials{}, ErrNone
	}
	base := cmp.Or(os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), machineAddress)
	base = strings.TrimSuffix(base, "/") + "/latest/"
	token, err := text(ctx, http.MethodPut, base+"api/token",
		map[string]string{"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": "300"})
	var op *net.OpError
	away := errors.As(err, &op) && op.Op == "dial" // not a machine of EC2
	if err != nil &&
		(away || ctx.Err() != nil || strings.EqualFold(os.Getenv("AWS_EC2_METADATA_V1_DISABLED"), "true")) {
		return Credentials{}, fmt.Errorf("%w (%w)", ErrNone, err)
	}
	header := map[string]string{"X-Aws-Ec2-Metadata-Token": token}
	const roles = "meta-data/iam/security-credentials/"
	role, err := text(ctx, http.MethodGet, base+roles, header)
	if err != nil || role == "" { // a machine without a role
		return Credentials{}, ErrNone
	}
	role, _, _ = strings.Cut(role, "\n")
	return ask(ctx, http.MethodGet, base+roles+strings.TrimSpace(role), header, "the service of the machine")
}

// ask returns the credentials that a service of this machine has.
func ask(
	ctx context.Context, method, address string, header map[string]string, of string,
) (Credentials, error) {
	said, err := text(ctx, method, address, header)
	if err != nil {
		return Credentials{}, err
	}
	var a answer
	if json.Unmarshal([]byte(said), &a) != nil {
		return Credentials{}, errors.New(of + " sends no JSON")
	}
	return a.credentials(of)
}

// text returns what a service of this machine says.
func text(ctx context.Context, method, address string, header map[string]string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, nil) //nolint:gosec // the environment names the service
	if err != nil {
		return "", errors.New("the address of the service for credentials is no URL")
	}
	for name, value := range header {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	status, said, err := do(local(), req)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the service for credentials says %d %s", status, http.StatusText(status))
	}
	return string(said), err
}
