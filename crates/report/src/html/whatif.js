"use strict";
// What the answer would be at other prices, by the rules of the program: money in whole micro-dollars, ratios as floating numbers
// in the order in which perbuck computes them. Nothing here touches the page; `dev/` tests hold it against the program.
const WhatIf = (() => {
  const CENT = 10000n;
  const BILLION = 10n ** 15n;
  const LARGEST = 2n ** 63n - 1n;
  const MOST_TRIALS = 1000;
  const DISCOUNTED = ["compute", "volume", "snapshot", "traffic"];
  const ABSENT = "—";

  // Decimal digits as a whole number of their last decimal; throws what is wrong.
  function decimal(text, decimals) {
    const found = /^(\d+)(?:\.(\d+))?$/.exec(text.trim());
    if (!found) throw new Error(text.includes(",") ? "write the decimals after a point, without commas: 1234.50" : "write a number of 0 or more, such as 0.35");
    const fraction = (found[2] ?? "").replace(/0+$/, "");
    if (fraction.length > decimals) throw new Error(`write at most ${decimals} decimals`);
    if (found[1].length > 12) throw new Error("write fewer digits");
    return BigInt(found[1] + fraction.padEnd(decimals, "0"));
  }

  // Dollars as micro-dollars.
  const price = (text) => decimal(text, 6);

  // A percentage, as 10 to the 18th of it.
  function percentage(text, most) {
    const found = decimal(text, 18);
    if (most !== undefined && found > BigInt(most) * 10n ** 18n) throw new Error(`write a percentage from 0 to ${most}`);
    return found;
  }

  // A percentage of micro-dollars, rounded half up to whole ones.
  function shareOf(base, percent) {
    const below = 100n * 10n ** 18n;
    return (2n * base * percent + below) / (2n * below);
  }

  function limited(amount) {
    if (amount > BILLION) throw new Error("this comes to more than a billion dollars a month");
    return amount;
  }

  // The edit that stands at fault, for the page to show.
  function at(key, work) {
    try {
      return work();
    } catch (error) {
      if (error.edit === undefined) error.edit = key;
      throw error;
    }
  }

  // What a bill comes to. `edits` holds texts by position of the line, and `further`: a discount on everything that can be
  // discounted, after those of the study.
  function bill(of, edits, terms) {
    const text = (i, stated) => edits[i] ?? stated;
    const further = edits.further === undefined ? 0n : at("further", () => percentage(edits.further, 100));
    const amounts = of.lines.map(() => 0n);
    const groups = new Map();
    const add = (group, amount) => groups.set(group, (groups.get(group) ?? 0n) + amount);
    of.lines.forEach((line, i) => {
      if (!line.priced || line.amount.is === "share") return;
      if (line.amount.is === "units") {
        amounts[i] = at(i, () => limited(BigInt(line.amount.units) * price(text(i, line.price))));
      } else {
        amounts[i] = -shareOf(groups.get(line.group) ?? 0n, at(i, () => percentage(text(i, line.amount.percent), 100)));
      }
      add(line.group, amounts[i]);
    });
    for (const group of DISCOUNTED) add(group, -shareOf(groups.get(group) ?? 0n, further));
    const shares = of.lines.map((line, i) => [line, i]).filter(([line]) => line.amount.is === "share");
    for (const [line, i] of shares.sort(([a], [b]) => a.amount.order - b.amount.order)) {
      const base = [...groups].filter(([group]) => group !== "support").reduce((sum, [, amount]) => sum + amount, 0n);
      const share = shareOf(base, at(i, () => percentage(text(i, line.amount.percent))));
      const least = BigInt(line.amount.at_least);
      amounts[i] = at(i, () => limited(BigInt(line.amount.times) * (least > share ? least : share)));
      add(line.group, amounts[i]);
    }
    const exact = [...groups.values()].reduce((sum, amount) => sum + amount, 0n);
    const monthly = terms.round === "monthly" ? cents(exact) : exact;
    const total = monthly * BigInt(terms.months);
    return { amounts, exact, monthly, total: total > LARGEST ? LARGEST : total };
  }

  const cents = (micros) => ((micros + CENT / 2n) / CENT) * CENT;
  const dollars = (micros) => Number(micros) / 1e6;

  // A ratio of throughputs as one of work per dollar: the cost has no error. Nothing where one of the two is free.
  function scaled(ratio, base, mine) {
    if (!ratio || !(base > 0n && mine > 0n)) return null;
    const times = dollars(base) / dollars(mine);
    const interval = ratio.interval && { low: ratio.interval.low * times, high: ratio.interval.high * times };
    return { ...ratio, value: ratio.value * times, interval };
  }

  function decided(interval, margin) {
    const [low, high] = [1 / (1 + margin), 1 + margin];
    if (interval.low > high) return "better";
    if (interval.high < low) return "worse";
    return interval.low >= low && interval.high <= high ? "equivalent" : null;
  }

  // The decision rule: one word, and why where nothing is decided.
  function verdict(ratio, rule) {
    const undecided = (why) => ({ word: "undecided", why });
    if (!ratio.interval) return undecided(rule.published ? "a single published value has no interval" : "a single trial has no interval");
    if (ratio.missing) return undecided(`${ratio.missing} planned trial${ratio.missing === 1 ? " is" : "s are"} missing`);
    const word = decided(ratio.interval, rule.margin);
    if (word) return { word, why: "" };
    if (rule.most && ratio.units >= 5 && chance(ratio, rule, Math.max(rule.most - ratio.units, 0)) < 0.1) {
      return undecided(`too close to the margin: ${rule.most} trials hardly settle it`);
    }
    const decides = (more) => chance(ratio, rule, more) >= 0.81;
    if (!decides(MOST_TRIALS)) return undecided("too close to the margin: a thousand more trials would not settle it");
    let [few, enough] = [0, MOST_TRIALS];
    while (enough - few > 1) {
      const middle = Math.floor((few + enough) / 2);
      if (decides(middle)) enough = middle;
      else few = middle;
    }
    const what = `${ratio.deployed ? "deployment" : "trial"}${enough === 1 ? "" : "s"}`;
    return undecided(`about ${enough} more ${what}${ratio.deployed ? "" : " per point"} should settle it`);
  }

  // The probability of a verdict after so many more trials, by what was seen so far.
  function chance(ratio, rule, more) {
    const [n, all] = [ratio.units, ratio.units + more];
    if (!more || !(ratio.log_error > 0)) return 0;
    const each = ratio.log_error * Math.sqrt(n);
    const freedom = (ratio.freedom / Math.max(n - 1, 1)) * (all - 1);
    const half = (studentQuantile(rule.confidence_of_more, freedom) * each) / Math.sqrt(all);
    const moves = each * Math.sqrt(1 / n - 1 / all);
    const [edge, now] = [Math.log1p(rule.margin), Math.log(ratio.value)];
    const below = (value) => studentBelow((value - now) / moves, ratio.freedom);
    return 1 - below(edge + half) + below(-edge - half) + Math.max(below(edge - half) - below(half - edge), 0);
  }

  // The distribution function of Student's t.
  function studentBelow(t, freedom) {
    const f = Math.max(freedom, 1);
    const outside = beta(f / 2, 0.5, f / (f + t * t)) / 2;
    return t < 0 ? outside : 1 - outside;
  }

  // The logarithm of the gamma function (Lanczos, g = 7).
  function logGamma(x) {
    const terms = [676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905, -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7];
    const sum = terms.reduce((sum, term, i) => sum + term / (x + i), 0.9999999999998099);
    const t = x + 6.5;
    return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
  }

  // The regularised incomplete beta function by its continued fraction (Lentz).
  function beta(a, b, x) {
    if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
    if (x > (a + 1) / (a + b + 2)) return 1 - beta(b, a, 1 - x);
    const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
    const away = (v) => (Math.abs(v) < 1e-300 ? 1e-300 : v);
    let [c, d] = [1, 1 / away(1 - ((a + b) * x) / (a + 1))];
    let found = d;
    for (let m = 1; m < 1000; m += 1) {
      const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
      const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
      for (const step of [even, odd]) {
        d = 1 / away(1 + step * d);
        c = away(1 + step / c);
        found *= c * d;
      }
      if (Math.abs(c * d - 1) < 4e-16) break;
    }
    return front * found;
  }

  // The two-sided quantile of Student's distribution, by bisection.
  function studentQuantile(confidence, freedom) {
    const f = Math.max(freedom, 1);
    const outside = (t) => beta(f / 2, 0.5, f / (f + t * t));
    let [low, high] = [0, 1];
    while (outside(high) > 1 - confidence && high < 1e300) high *= 2;
    for (let i = 0; i < 200 && low < high; i += 1) {
      const middle = (low + high) / 2;
      if (middle === low || middle === high) break;
      if (outside(middle) > 1 - confidence) low = middle;
      else high = middle;
    }
    return high;
  }

  // Numbers as texts, as the report prints them: rounded once, ties to the even digit, thousands separated.
  function fixed(value, decimals) {
    if (value === null || !Number.isFinite(value)) return ABSENT;
    const digits = rounded(Math.abs(value), decimals).toString().padStart(decimals + 1, "0");
    const [whole, fraction] = [digits.slice(0, digits.length - decimals), digits.slice(digits.length - decimals)];
    const separated = BigInt(whole) < 2n ** 64n ? whole.replace(/\B(?=(\d{3})+$)/g, ",") : whole;
    return `${value < 0 && /[1-9]/.test(digits) ? "−" : ""}${separated}${fraction && `.${fraction}`}`;
  }

  // A number in whole units of its last decimal.
  function rounded(value, decimals) {
    // From 10²¹ on numbers are whole; of smaller ones a hundred decimals are all there are, above 10⁻¹².
    if (value >= 1e21) return BigInt(value) * 10n ** BigInt(decimals);
    const all = BigInt(value.toFixed(100).replace(".", ""));
    const unit = 10n ** BigInt(100 - decimals);
    const [below, rest] = [all / unit, 2n * (all % unit)];
    return rest > unit || (rest === unit && below % 2n === 1n) ? below + 1n : below;
  }

  function significant(value, digits) {
    if (!value || !Number.isFinite(value)) return 0;
    return Math.min(12, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));
  }

  const largest = (values) => values.filter(Number.isFinite).reduce((most, v) => Math.max(most, Math.abs(v)), 0);
  const columnDecimals = (values) => significant(largest(values), 4);
  const dollarDecimals = (values) => (largest(values) >= 1 ? 2 : significant(largest(values), 4));
  const range = (i, decimals) => (i ? `${fixed(i.low, decimals)}–${fixed(i.high, decimals)}` : "");

  function ratioDecimals({ value, interval }) {
    const width = interval ? interval.high - interval.low : 0;
    return Math.min(4, Math.max(2, width > 0 ? significant(width, 2) : significant(value, 3)));
  }

  const ratioText = (ratio) => `${fixed(ratio.value, ratioDecimals(ratio))}×`;
  const ratioInterval = (ratio) => range(ratio.interval, ratioDecimals(ratio));

  // Micro-dollars as dollars and cents.
  function money(micros) {
    const rest = cents(micros) / CENT;
    const whole = (rest / 100n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
    return `$${whole}.${(rest % 100n).toString().padStart(2, "0")}`;
  }

  // The contenders of a workload with their bills, in one region: cost, work per dollar, verdict, and the models of cost.
  function results(data, workload, bills) {
    const base = bills[data.baseline];
    const of = (contender) => workload.contenders.find((c) => c.contender === contender);
    return workload.contenders.filter((c) => bills[c.contender]).map((c) => {
      const mine = bills[c.contender];
      const cost = dollars(mine.total);
      const value = c.value > 0 ? c.value : null;
      const ratio = base ? scaled(c.ratio, base.total, mine.total) : null;
      const turned = c.interval && c.interval.low > 0 ? { low: cost / c.interval.high, high: cost / c.interval.low } : null;
      return {
        contender: c.contender,
        bill: mine,
        usdPerUnit: value && cost / value,
        unitsPerUsd: value && cost > 0 ? value / cost : null,
        usdInterval: turned,
        unitsInterval: turned && turned.low > 0 ? { low: 1 / turned.high, high: 1 / turned.low } : null,
        ratio,
        verdict: ratio && verdict(ratio, data),
        detectable: c.detectable,
        models: value && models(data, c, mine, c.contender === data.baseline ? null : [base, of(data.baseline)]),
      };
    });
  }

  // Months are not rounded here, as in the tables of models.
  function models(data, { value, per_second }, mine, against) {
    const month = dollars(mine.exact);
    if (!(month > 0)) return null;
    const [bill, base] = against ?? [];
    const [other, speed] = [bill ? dollars(bill.exact) : 0, base?.value > 0 ? value / base.value : null];
    const advantage = other > 0 && speed !== null;
    return {
      throughputPerUsdHour: value / (month / data.hours),
      usdPerMillion: per_second === null ? null : month / ((per_second * 3600 * data.hours) / 1e6),
      sameThroughput: advantage ? month / speed : null,
      breakEven: advantage ? other * speed : null,
    };
  }

  return {
    price, percentage, bill, results, scaled, verdict, studentQuantile, fixed, money, range, ratioText, ratioInterval, columnDecimals, dollarDecimals, ABSENT,
  };
})();
