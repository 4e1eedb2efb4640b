"""Requests to the API server of dev/kubernetes, with the certificate of its administrator."""

import http.client
import json
import ssl


class Refused(Exception):
    """An answer that is no success."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Api:
    def __init__(self, folder):
        self.folder = folder
        with open(f"{folder}/port") as file:
            self.port = int(file.read())
        self.tls = ssl.create_default_context(cafile=f"{folder}/ca.crt")
        self.tls.load_cert_chain(f"{folder}/admin.crt", f"{folder}/admin.key")
        self.connection = None

    def send(self, method, path, body=None, kind="application/json"):
        """The answer as an object; one more attempt where the server has closed an idle connection."""
        for last in (False, True):
            fresh = self.connection is None
            if fresh:
                self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=self.tls)
            try:
                self.connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind})
                answer = self.connection.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException):
                self.connection = None
                if fresh or last:
                    raise
        if answer.status >= 300:
            raise Refused(answer.status, text.decode(errors="replace"))
        return json.loads(text) if text.startswith(b"{") else text.decode()

    def items(self, path):
        return self.send("GET", path)["items"]

    def delete(self, path, body=None):
        """Whether the object was there."""
        try:
            self.send("DELETE", path, body)
        except Refused as error:
            if error.status != 404:
                raise
            return False
        return True
