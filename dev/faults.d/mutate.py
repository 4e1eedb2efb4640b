"""Mutated files of every kind that perbuck reads."""

import os
import re
import shutil

NUMBERS = [b"0", b"-1", b"1e308", b"18446744073709551616", b"9007199254740993", b"NaN", b"null", b"1e-400", b"99999999999999999999999999"]


def change(data, rng):
    """Other bytes; never the same ones."""
    data, at = bytearray(data), rng.randrange(len(data)) if data else 0
    how = rng.choice(["flip", "cut", "empty", "double", "number", "number", "drop", "noise", "line", "nest", "long", "controls"])
    if how == "flip":
        for _ in range(rng.choice([1, 3, 20])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del data[at:]
    elif how == "empty":
        data = bytearray()
    elif how == "double":
        data += data[at:]
    elif how == "number":
        found = list(re.finditer(rb"\d+(\.\d+)?", data))
        if found:
            one = rng.choice(found)
            data[one.start():one.end()] = rng.choice(NUMBERS)
    elif how == "drop":
        del data[at:at + rng.choice([1, 10, 200])]
    elif how == "noise":
        data[at:at] = rng.randbytes(rng.choice([1, 50, 5000]))
    elif how == "line":
        lines = data.split(b"\n")
        lines.insert(rng.randrange(len(lines)), rng.choice(lines))
        data = bytearray(b"\n".join(lines))
    elif how == "nest":
        data[at:at] = b"[" * rng.choice([200, 100000])
    elif how == "long":
        data[at:at] = b"a" * rng.choice([100_000, 5_000_000])
    else:
        data[at:at] = rng.choice([b"\x1b]0;x\x07", b"\x1b[2J", "\u202e".encode(), b"\0", b"\xff\xfe", b"\r"])
    return bytes(data), how


def results_files(desk):
    """The files of a finished study that perbuck reads again."""
    found = [f"{desk.results}/{n}" for n in ("study.toml", "fingerprint", "id", "checked", "live.jsonl", "report.html")]
    records = [f"{desk.results}/{n}" for n in sorted(desk.records())]
    return [p for p in found if os.path.exists(p)] + records + records


def replace_by_other(path, rng):
    """The file becomes something that is no file."""
    other = rng.choice(["folder", "pipe", "link to nothing", "link to itself", "zeros", "no right"])
    os.remove(path)
    if other == "folder":
        os.mkdir(path)
    elif other == "pipe":
        os.mkfifo(path)
    elif other == "link to nothing":
        os.symlink("/nothing/there", path)
    elif other == "link to itself":
        os.symlink(os.path.basename(path), path)
    elif other == "zeros":
        os.symlink("/dev/zero", path)
    else:
        os.mkdir(path, 0)
    return other


def one_of(scene, paths):
    """Changes one of the files, and puts it back when the command has ended; returns what was done."""
    rng = scene.rng
    path = rng.choice(paths)
    with open(path, "rb") as f:
        whole = f.read()

    def restore():
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.remove(path)
        with open(path, "wb") as f:
            f.write(whole)

    scene.heal_by(restore)
    scene.replaced = True
    if rng.random() < 0.15:
        how = replace_by_other(path, rng)
    else:
        data, how = change(whole, rng)
        with open(path, "wb") as f:
            f.write(data)
    scene.seen = {name: digest for name, digest in scene.seen.items() if not path.endswith(name)}
    return f"{os.path.relpath(path, scene.folder)}: {how}"


PRICES = "prices.toml"
LISTS = {
    "csv": b"provider,region,kind,name,vcpu,memory_gib,usd_per_hour\naws,us-east-1,instance,m8g.large,2,8,0.08976\naws,us-east-1,instance,m8g.xlarge,4,16,0.17952\n",
    "aws-csv": b'"FormatVersion","v1.0"\n"Disclaimer","x"\n"Publication Date","2026-01-01T00:00:00Z"\n"Version","1"\n"OfferCode","AmazonEC2"\n'
               b'"SKU","TermType","PriceDescription","Unit","PricePerUnit","Currency","Product Family","Region Code","Instance Type","vCPU","Memory","Tenancy",'
               b'"Operating System","License Model","CapacityStatus","Pre Installed S/W"\n"A","OnDemand","x","Hrs","0.0897600000","USD","Compute Instance",'
               b'"us-east-1","m8g.large","2","8 GiB","Shared","Linux","No License required","Used","NA"\n',
    "skypilot": b"InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone\nm8g.large,,,2,8,,0.08976,0.03,us-east-1,us-east-1a\n",
    "aws-json": b'{"offerCode":"AmazonEC2","products":{"A":{"sku":"A","productFamily":"Compute Instance","attributes":{"instanceType":"m8g.large","regionCode":"us-east-1",'
                b'"vcpu":"2","memory":"8 GiB","tenancy":"Shared","operatingSystem":"Linux","preInstalledSw":"NA","capacitystatus":"Used","licenseModel":"No License required"}}},'
                b'"terms":{"OnDemand":{"A":{"A.J":{"priceDimensions":{"A.J.6":{"unit":"Hrs","pricePerUnit":{"USD":"0.0897600000"}}}}}}}}',
    "azure": b'{"Items":[{"currencyCode":"USD","retailPrice":0.096,"unitPrice":0.096,"armRegionName":"eastus","armSkuName":"Standard_D2s_v5","serviceName":"Virtual Machines",'
             b'"productName":"Virtual Machines Dsv5 Series","skuName":"D2s v5","unitOfMeasure":"1 Hour","type":"Consumption","meterName":"D2s v5"}]}',
    "infracost": b"sku,vendorName,region,service,productFamily,attributes,prices\nA,aws,us-east-1,AmazonEC2,Compute Instance,{},[]\n",
    "ec2instances": b'[{"instance_type":"m8g.large","vCPU":2,"memory":8,"pricing":{"us-east-1":{"linux":{"ondemand":"0.08976"}}}}]',
    "gcp": b"gcp_price_list:\n  x:\n    us-central1: 0.1\n",
}


def arrange(scene):
    """One file is changed before a command that reads it."""
    rng, desk, case = scene.rng, scene.desk, scene.case
    kind = rng.choice(["study", "study", "results", "results", "results", "page", "page", "prices", "list", "live"])
    if kind == "study":
        scene.words = rng.choice([["check", "s.toml"], ["check", "--json", "s.toml"], ["run", "s.toml"], ["price", "s.toml"]])
        done = one_of(scene, [desk.path("s.toml")])
    elif kind == "results":
        scene.words = rng.choice([["report", "results/s"], ["compare", "results/s"], ["compare", "--json", "results/s"], ["run", "s.toml"], ["verify", "results/s"]])
        done = one_of(scene, results_files(desk))
    elif kind == "page":
        scene.words = ["verify", "results/s/report.html"]
        done = one_of(scene, [f"{desk.results}/report.html"])
    elif kind == "prices":
        shutil.copy2(f"{scene.bench.root}/prices/aws-2021-03.toml", desk.path(PRICES))
        scene.words = rng.choice([["prices", "lint", PRICES], ["prices", "show", PRICES], ["check", "--prices", PRICES, "s.toml"]])
        done = one_of(scene, [desk.path(PRICES)])
    elif kind == "live":
        scene.words = ["report", "results/s"]
        done = one_of(scene, [f"{desk.results}/live.jsonl"])
    else:
        name = rng.choice(sorted(LISTS))
        with open(desk.path("list"), "wb") as f:
            f.write(LISTS[name])
        scene.words = ["prices", "import", name, "list", "--date", "2026-01-01", "--output", "made.toml"]
        done = one_of(scene, [desk.path("list")])
    case.detail = f"{' '.join(scene.words)} on {done}"


def arrange_journal(scene):
    """A journal of settings that a killed run could have left, mutated: it is data and must not become SQL."""
    rng, desk = scene.rng, scene.desk
    endpoint = f"127.0.0.1:{scene.relay.port}"
    entry = (f'[{{"contender":"a","place":"{endpoint}","name":"long_query_time","was":"10.000000","wanted":"7","became":"7.000000"}}]')
    os.makedirs(desk.results, exist_ok=True)
    path = f"{desk.results}/server-settings.json"
    crafted = rng.choice([
        entry.replace("10.000000", "1; SET GLOBAL general_log=1"), entry.replace("long_query_time", "general_log=1, GLOBAL long_query_time"),
        entry.replace("10.000000", "10' OR '1"), entry.replace("7.000000", "\\u001b[2J"), None])
    data, how = (crafted.encode(), "crafted") if crafted else change(entry.encode(), rng)
    with open(path, "wb") as f:
        f.write(data)
    scene.case.detail = f"server-settings.json: {how}"
    scene.heal_by(lambda: os.path.exists(path) and os.remove(path))


def judge(scene, ended):
    """A record that is cut is damaged, and whoever reads it says so; files of other studies go before the next command."""
    detail = scene.case.detail
    if ended.code == 0 and "/c0" in detail and detail.endswith((": cut", ": empty", ": nest")) and scene.words[0] in ("report", "compare", "verify"):
        scene.case.violation(f"`{' '.join(scene.words)}` accepts a damaged record")
    shutil.rmtree(scene.desk.path("made.toml"), ignore_errors=True)
    study_name = scene.desk.path("results")
    for name in os.listdir(study_name):
        if name != "s":
            shutil.rmtree(f"{study_name}/{name}", ignore_errors=True)

